/** What becomes of records: DeleteRecords, and retention by time and by bytes. */

import { expect } from 'vitest'
import type { LogWorld, StoredBatch } from '../log-world.ts'
import { LogCommand, type Model, ONE_BATCH, partitionOf } from './log-command.ts'

export class DeleteRecords extends LogCommand {
  readonly partition: number
  readonly offset: number
  constructor(partition: number, offset: number) {
    super()
    this.partition = partition
    this.offset = offset
  }
  act(model: Model, real: LogWorld) {
    const index = partitionOf(model, this.partition)
    const log = model.partitions[index]
    if (this.offset > log.endOffset) {
      expect(real.deleteRecordsBefore(index, this.offset)).toBe('OFFSET_OUT_OF_RANGE')
      return
    }
    log.retainCount(log.endOffset - this.offset)
    expect(real.deleteRecordsBefore(index, this.offset)).toBe('NONE')
  }
}

/**
 * Retention drops whole segments, so the broker keeps at least what the model keeps; where each batch is a segment, it keeps
 * no batch more than it must. Afterwards DeleteRecords brings it to where the model is.
 */
abstract class Retain extends LogCommand {
  act(model: Model, real: LogWorld) {
    const starts = model.partitions.map((_, index) => real.bounds(index).start)
    const now = this.retain(model, real)
    for (const [index, log] of model.partitions.entries()) {
      const { start } = real.bounds(index)
      expect(start).toBeGreaterThanOrEqual(starts[index])
      expect(start).toBeLessThanOrEqual(log.startOffset)
      if (model.segmentBytes === ONE_BATCH) this.keepsNoMore(model.batches[index], start, now)
      expect(real.deleteRecordsBefore(index, log.startOffset)).toBe('NONE')
    }
  }
  /** Answers when it was. */
  abstract retain(model: Model, real: LogWorld): number
  abstract keepsNoMore(batches: readonly StoredBatch[], start: number, now: number): void
}

export class RetainTime extends Retain {
  readonly ms: number
  constructor(ms: number) {
    super()
    this.ms = ms
  }
  retain(model: Model, real: LogWorld) {
    const now = real.retain('retention.ms', this.ms)
    for (const log of model.partitions) log.retainTime(this.ms, now)
    return now
  }
  keepsNoMore(batches: readonly StoredBatch[], start: number, now: number) {
    // The newest record of a batch counts, even if DeleteRecords has taken it.
    const kept = batches.find(({ newest }) => now - newest <= this.ms)
    expect(start).toBeGreaterThanOrEqual(kept?.baseOffset ?? (batches.at(-1)?.lastOffset ?? -1) + 1)
  }
}

export class RetainBytes extends Retain {
  readonly bytes: number
  constructor(bytes: number) {
    super()
    this.bytes = bytes
  }
  retain(model: Model, real: LogWorld) {
    const now = real.retain('retention.bytes', this.bytes)
    for (const [index, log] of model.partitions.entries()) {
      // A batch is as big as its bytes, and they all go with its last record.
      const sizes = new Map(model.batches[index].map(({ lastOffset, bytes }) => [lastOffset, bytes]))
      log.retainBytes(this.bytes, ({ offset }) => sizes.get(offset) ?? 0)
    }
    return now
  }
  keepsNoMore(batches: readonly StoredBatch[], start: number) {
    const kept = batches.filter(({ lastOffset }) => lastOffset >= start)
    const total = kept.reduce((sum, { bytes }) => sum + bytes, 0)
    // Kafka keeps at least so many bytes: one batch less, and it would be fewer.
    if (kept.length > 0) expect(total - kept[0].bytes).toBeLessThan(this.bytes)
  }
}
