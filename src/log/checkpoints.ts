/**
 * What a log must remember that its segments do not say: where it starts after DeleteRecords, which leader epochs there
 * were, and the producers whose batches were deleted. Text files, one value list a line, as Kafka's
 * `leader-epoch-checkpoint`. Written whole and late: after a crash, reading the segments makes up for what is missing.
 */

import type { Storage } from '../storage/storage.ts'
import { concat } from '../util/byte-writer.ts'
import type { Env } from '../util/env.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import type { EpochEntry } from './leader-epochs.ts'
import type { ProducerBatch, ProducerEntry } from './producer-state.ts'

const EPOCHS = 'leader-epoch-checkpoint'
const LOG_START = 'log-start-offset-checkpoint'
const PRODUCERS = 'producer-checkpoint'
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
    return this.#read(EPOCHS).map(([epoch, startOffset]) => ({ epoch, startOffset }))
  }

  writeEpochs(entries: readonly EpochEntry[]): void {
    this.#write(
      EPOCHS,
      entries.map(({ epoch, startOffset }) => `${epoch} ${startOffset}`),
    )
  }

  readLogStartOffset(): number {
    return this.#read(LOG_START)[0]?.[0] ?? 0
  }

  writeLogStartOffset(offset: number): void {
    this.#write(LOG_START, [String(offset)])
  }

  /** Producers as they were before the first segment. */
  readProducers(): ProducerEntry[] {
    return this.#read(PRODUCERS).map(row => {
      const [producerId, producerEpoch, coordinatorEpoch, lastTimestamp, lastOffset, firstOffset, ...rest] = row
      const batches: ProducerBatch[] = []
      for (let at = 0; at < rest.length; at += 5) {
        const [firstSequence, lastSequence, firstOffset, lastOffset, timestamp] = rest.slice(at, at + 5)
        batches.push({ firstSequence, lastSequence, firstOffset, lastOffset, timestamp })
      }
      const currentTransactionFirstOffset = firstOffset
      const state = { producerEpoch, coordinatorEpoch, lastTimestamp, lastOffset, currentTransactionFirstOffset }
      return { producerId, ...state, batches }
    })
  }

  writeProducers(entries: readonly ProducerEntry[]): void {
    if (entries.length === 0 && !this.#storage.exists(`${this.#directory}/${PRODUCERS}`)) return
    const lines = entries.map(entry => {
      const { producerId, producerEpoch, coordinatorEpoch, lastTimestamp, lastOffset } = entry
      const row = [producerId, producerEpoch, coordinatorEpoch, lastTimestamp, lastOffset]
      row.push(entry.currentTransactionFirstOffset)
      for (const batch of entry.batches) {
        row.push(batch.firstSequence, batch.lastSequence, batch.firstOffset, batch.lastOffset, batch.timestamp)
      }
      return row.join(' ')
    })
    this.#write(PRODUCERS, lines)
  }

  #read(name: string): number[][] {
    const path = `${this.#directory}/${name}`
    if (!this.#storage.exists(path)) return []
    const file = this.#storage.open(path)
    const bytes = concat(file.read(0, file.size))
    const [version, count, ...lines] = utf8Decode(bytes).split('\n')
    const rows = lines.slice(0, Number(count)).map(line => line.split(' ').map(Number))
    const isWhole = rows.length === Number(count) && rows.every(row => row.every(Number.isSafeInteger))
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
