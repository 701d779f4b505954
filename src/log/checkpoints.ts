/**
 * What a log must remember that its segments do not say: where it starts after DeleteRecords, and which leader epochs
 * there were (Kafka's `leader-epoch-checkpoint`, in its format, and a log start offset of the log's own). Written whole
 * and late: what is missing after a crash is made up for by reading the segments.
 */

import type { Storage } from '../storage/storage.ts'
import { concat } from '../util/byte-writer.ts'
import type { Env } from '../util/env.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import type { EpochEntry } from './leader-epochs.ts'

const EPOCHS = 'leader-epoch-checkpoint'
const LOG_START = 'log-start-offset-checkpoint'
const VERSION = 0

export class Checkpoints {
  readonly #storage: Storage
  readonly #directory: string
  readonly #env: Env

  constructor(storage: Storage, directory: string, env: Env) {
    this.#storage = storage
    this.#directory = directory
    this.#env = env
  }

  /** The epochs as they were written last; none when the file is not there or is broken. */
  readEpochs(): EpochEntry[] {
    return this.#read(EPOCHS, 2).map(([epoch, startOffset]) => ({ epoch, startOffset }))
  }

  writeEpochs(entries: readonly EpochEntry[]): void {
    this.#write(
      EPOCHS,
      entries.map(({ epoch, startOffset }) => `${epoch} ${startOffset}`),
    )
  }

  readLogStartOffset(): number {
    return this.#read(LOG_START, 1)[0]?.[0] ?? 0
  }

  writeLogStartOffset(offset: number): void {
    this.#write(LOG_START, [String(offset)])
  }

  #read(name: string, columns: number): number[][] {
    const path = `${this.#directory}/${name}`
    if (!this.#storage.exists(path)) return []
    const file = this.#storage.open(path)
    const bytes = concat(file.read(0, file.size))
    const [version, count, ...lines] = utf8Decode(bytes).split('\n')
    const rows = lines.slice(0, Number(count)).map(line => line.split(' ').map(Number))
    const isWhole = rows.length === Number(count) && rows.every(row => row.length === columns && row.every(isOffset))
    if (Number(version) === VERSION && isWhole) return rows
    this.#env.log('warn', 'a checkpoint is broken and is not used', { path })
    return []
  }

  #write(name: string, lines: string[]): void {
    const path = `${this.#directory}/${name}`
    const text = `${[VERSION, lines.length, ...lines].join('\n')}\n`
    this.#storage.replace(path, utf8Encode(text)).whenSettled(failure => {
      if (failure) this.#env.log('warn', 'cannot write a checkpoint', { path, error: failure.message })
    })
  }
}

function isOffset(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}
