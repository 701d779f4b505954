/**
 * A disk with its page cache, which outlives the processes that use it: what lies on it, what may go wrong with it, when a
 * process is struck, and what is left after a power cut. The calls are in simulated-file-system.ts.
 */

import type { Chance } from './chance.ts'
import { DirectoryNode, FileNode } from './disk-nodes.ts'

/** What may go wrong, as probabilities of each call; all zero on a good day. */
export interface DiskFaults {
  /** A write, or a change of names, fails with EIO. */
  writeFails: number
  /** A write does only a part of its work, without an error. */
  writeIsShort: number
  /** A sync fails, and what it covered is never written. */
  syncFails: number
  readFails: number
  /** Reading gives a wrong bit, this time only. */
  readFlips: number
  /** Nothing may grow. */
  full: boolean
}

export const GOOD_DAY: DiskFaults = {
  writeFails: 0,
  writeIsShort: 0,
  syncFails: 0,
  readFails: 0,
  readFlips: 0,
  full: false,
}

/** A disk, with the page cache above it. */
export class SimulatedDisk {
  root = new DirectoryNode()
  faults: DiskFaults = { ...GOOD_DAY }
  /** Who has the lock. */
  owner: object | undefined
  /** A sync failed since the process began: what it covered may be lost as with the power. */
  hasGivenUp = false
  /** How often each fault happened, by its name. */
  readonly happened = new Map<string, number>()
  readonly #chance: Chance
  /** Told before each change; true strikes the process in the middle of it. */
  #strike: { before: number; then: () => void } | undefined
  #image: DirectoryNode | undefined

  constructor(chance: Chance) {
    this.#chance = chance
  }

  get chance(): Chance {
    return this.#chance
  }

  /** Something may go wrong with it now. */
  get isBad(): boolean {
    return Object.values(this.faults).some(probability => Number(probability) > 0)
  }

  /** True for `probability` of the calls; counts what happened. */
  fails(fault: keyof DiskFaults): boolean {
    const probability = this.faults[fault]
    const fails = typeof probability === 'boolean' ? probability : probability > 0 && this.#chance.maybe(probability)
    if (fails) this.happened.set(fault, (this.happened.get(fault) ?? 0) + 1)
    return fails
  }

  /** Strikes after `changes` further changes: the disk stays as it is at that moment, whatever the process still does. */
  strikeAfter(changes: number, then: () => void): void {
    this.#strike = { before: changes, then }
  }

  /** Called before each change of anything. When the process is struck now, `half` does what was done of the change. */
  changing(half?: () => void): void {
    if (this.#strike === undefined || this.#strike.before-- > 0) return
    const { then } = this.#strike
    this.#strike = undefined
    half?.()
    this.#image ??= this.root.fork()
    then()
  }

  /** Whoever uses it is struck now: it stays as it is at this moment, whatever the process still does. */
  freeze(): void {
    this.#strike = undefined
    this.#image ??= this.root.fork()
  }

  /** The process is gone: what it wrote is there, as far as it came. */
  processDied(): void {
    this.#strike = undefined
    this.owner = undefined
    if (this.#image !== undefined) this.root = this.#image
    this.#image = undefined
    for (const { file } of this.files()) file.evict()
    this.hasGivenUp = false
  }

  /** The power is gone: what was synced is there, and of the rest what chance lets through. */
  losePower(): void {
    this.processDied()
    this.root.losePower(this.#chance, this.#chance.pick([0, 0.2, 0.5, 0.9, 1]))
  }

  /** The same files once more, to see what another process would find. */
  fork(): SimulatedDisk {
    const copy = new SimulatedDisk(this.#chance.fork())
    copy.root = this.root.fork()
    return copy
  }

  /** All files with their paths, in the order of their names. */
  *files(directory = this.root, path = ''): Iterable<{ path: string; file: FileNode }> {
    for (const [name, node] of [...directory.entries].sort(([a], [b]) => (a < b ? -1 : 1))) {
      if (node instanceof FileNode) yield { path: `${path}${name}`, file: node }
      else yield* this.files(node, `${path}${name}/`)
    }
  }
}
