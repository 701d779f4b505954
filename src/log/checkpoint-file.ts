/**
 * A small text file that is always written whole: a version, the number of lines, the lines (Kafka's `CheckpointFile`). One write
 * is under way at a time, and the next has whatever is newest by then.
 */

import { readWhole } from '../storage/read-whole.ts'
import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'

const VERSION = 0

type WriteResult = StorageFailure | undefined

/** The words of each line in a checkpoint; undefined when it is none that is whole. */
export function checkpointLines(bytes: Uint8Array): string[][] | undefined {
  // Kafka makes its files empty, to begin with.
  if (bytes.length === 0) return []
  const [version, count, ...lines] = utf8Decode(bytes).split('\n')
  if (Number(version) !== VERSION || !/^\d+$/.test(count ?? '') || lines.length < Number(count)) return undefined
  return lines.slice(0, Number(count)).map(line => line.trim().split(/\s+/))
}

export class CheckpointFile {
  readonly path: string
  readonly #storage: Storage
  readonly #env: Env
  #lines: (() => readonly string[]) | undefined
  #writing: Later<WriteResult> | undefined
  #next: Later<WriteResult> | undefined
  #hasFailed = false

  constructor(storage: Storage, path: string, env: Env) {
    this.#storage = storage
    this.path = path
    this.#env = env
  }

  /** The words of each line; none when the file is not there or is empty, and none, with a warning, when it is broken. */
  read(): string[][] {
    const bytes = readWhole(this.#storage, this.path)
    return (bytes === undefined ? [] : checkpointLines(bytes)) ?? this.broken()
  }

  /** Says that the content is not what it should be. */
  broken(): [] {
    this.#env.log('warn', 'a checkpoint is broken and is not used', { path: this.path })
    return []
  }

  /** Writes what `lines` returns when it is its turn. Settles once that, or something newer, would survive a power cut. */
  write(lines: () => readonly string[]): Later<WriteResult> {
    this.#lines = lines
    if (this.#writing !== undefined) {
      this.#next ??= new Later<WriteResult>(this.#env.turns)
      return this.#next
    }
    const later = new Later<WriteResult>(this.#env.turns)
    this.#begin(later)
    return later
  }

  /** Settles, as the last write that was asked for does; undefined when nothing is being written. */
  get writing(): Later<WriteResult> | undefined {
    return this.#next ?? this.#writing
  }

  /** True after a write that failed, until one succeeds: nobody knows whether the file says the old or the new. */
  get hasFailed(): boolean {
    return this.#hasFailed
  }

  /** Settles once nothing is being written any more: with the failure of the last write, if it failed. */
  settled(): Later<WriteResult> {
    return this.writing ?? Later.of<WriteResult>(this.#env.turns, undefined)
  }

  #begin(later: Later<WriteResult>): void {
    const lines = this.#lines?.() ?? []
    this.#lines = undefined
    this.#writing = later
    const bytes = utf8Encode(`${[VERSION, lines.length, ...lines].join('\n')}\n`)
    this.#storage.replace(this.path, bytes).whenSettled(failure => {
      this.#writing = undefined
      this.#hasFailed = failure !== undefined
      if (failure) this.#env.log('warn', 'cannot write a checkpoint', { path: this.path, error: failure.message })
      later.settle(failure)
      const next = this.#next
      this.#next = undefined
      if (next !== undefined) this.#begin(next)
    })
  }
}
