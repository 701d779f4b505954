/**
 * What the batches of a log add up to, apart from their bytes: leader epochs, producers and their transactions, and the aborted
 * ones; with the files in which that outlives the process. It follows the log, and decides nothing.
 */

import type { BatchHeader } from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import { type EndTransactionMarker, readEndTransactionMarker } from '../records/control.ts'
import type { Storage } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import { EpochCheckpoint } from './epoch-checkpoint.ts'
import { LeaderEpochs } from './leader-epochs.ts'
import { ProducerSnapshots } from './producer-snapshots.ts'
import { ProducerStates } from './producer-state.ts'
import type { AbortedTransactionEntry } from './transaction-index.ts'

/** Where a transaction is noted that turns out to be aborted: the segment of its marker. */
export interface AbortedSink {
  readonly aborted: { append(entry: AbortedTransactionEntry): void }
}

export class LogState {
  readonly epochs = new LeaderEpochs()
  readonly producers = new ProducerStates()
  readonly snapshots: ProducerSnapshots
  readonly #epochCheckpoint: EpochCheckpoint

  constructor(options: { storage: Storage; directory: string; env: Env; platform: RecordsPlatform }) {
    const { storage, directory, env } = options
    this.snapshots = new ProducerSnapshots({ storage, directory, env, crc32c: options.platform.crc32c })
    this.#epochCheckpoint = new EpochCheckpoint(storage, directory, env)
  }

  /** Takes in a batch of one of our leaders: its epoch and its producer. */
  append(batch: BatchHeader, marker: EndTransactionMarker | undefined, segment: AbortedSink): void {
    if (this.epochs.assign(batch.partitionLeaderEpoch, batch.baseOffset)) this.writeEpochs()
    this.apply(batch, marker, segment)
  }

  /** Takes a batch that is in the log into the state of producers and transactions. */
  apply(batch: BatchHeader, marker: EndTransactionMarker | undefined, segment: AbortedSink): void {
    const { producers } = this
    if (batch.producerId < 0) return
    if (!batch.isControl) return producers.applyData(batch)
    if (marker === undefined) return
    const completed = producers.applyMarker(batch, marker)
    if (completed === undefined) return
    if (completed.isAborted) {
      const { producerId, firstOffset, lastOffset } = completed
      const lastStableOffset = producers.transactions.lastStableOffsetAfter(completed)
      segment.aborted.append({ producerId, firstOffset, lastOffset, lastStableOffset })
    }
    producers.transactions.complete(completed)
  }

  /** Takes in the epoch of a batch that was found in the log. */
  foundEpoch(batch: BatchHeader): void {
    // An epoch that the checkpoint knows began where the checkpoint says, which may be before its first batch.
    const isKnown = this.epochs.entries.some(
      ({ epoch, startOffset }) => epoch === batch.partitionLeaderEpoch && startOffset <= batch.baseOffset,
    )
    if (batch.partitionLeaderEpoch >= 0 && !isKnown) this.epochs.assign(batch.partitionLeaderEpoch, batch.baseOffset)
  }

  /** Puts producers back as they were at the newest snapshot at or below `offset`; returns where that was taken. */
  restoreProducers(offset: number): number | undefined {
    const { producers } = this
    producers.clear()
    const snapshot = this.snapshots.newest(offset)
    if (snapshot === undefined) return undefined
    // Open transactions in the order in which they began.
    const inOrder = snapshot.producers.sort((a, b) => a.currentTransactionFirstOffset - b.currentTransactionFirstOffset)
    for (const producer of inOrder) producers.restore(producer)
    return snapshot.offset
  }

  readEpochs(): void {
    for (const { epoch, startOffset } of this.#epochCheckpoint.read()) this.epochs.assign(epoch, startOffset)
  }

  /** Settles once the epochs that are known would survive a power cut. */
  writeEpochs() {
    return this.#epochCheckpoint.write(this.epochs.entries)
  }

  clear(): void {
    this.epochs.clear()
    this.producers.clear()
    this.snapshots.clear()
  }
}

/** The marker in a control batch; undefined when it holds another control record, or none since it was compacted. */
export function markerOf(
  bytes: Uint8Array,
  at: number,
  batch: BatchHeader,
  platform: RecordsPlatform,
): EndTransactionMarker | undefined {
  if (!batch.isControl || batch.recordsCount <= 0) return undefined
  const [record] = readRecords(bytes, at, platform)
  return readEndTransactionMarker(record.key, record.value)
}
