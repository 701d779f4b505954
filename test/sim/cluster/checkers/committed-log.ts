import type { Log } from '../../../../src/log/log.ts'
import { type ObservedBatch, ObservedLog } from '../../observed-log.ts'

/** Everything of a partition that a high watermark has passed. */
export class CommittedLog extends ObservedLog {
  /** Something of it was lost, as it may be. */
  hasLost = false
  /** Below this a leader may have shown records in the event in which its log failed: nobody saw it. */
  unseenUpTo = 0
  /** All who saw what was replicated have ended with the process of the cluster, and no leader knows it again: no loss can be named. */
  isUnwitnessed = false
  /** By broker: up to where its replica is known to hold it. */
  readonly held = new Map<number, number>()
  /** By broker: up to where it is known to be on its disk. */
  readonly flushed = new Map<number, number>()
  /** Who was looked at as its leader, and in which epoch. */
  leader = ''

  get key(): string {
    return `${this.topicId}-${this.partition}`
  }

  /** The broker has no replica of it. */
  forget(id: number): void {
    this.held.delete(id)
    this.flushed.delete(id)
  }

  /**
   * From where on a log has what was replicated; whether what lies before it may be deleted, log-starts.ts says. Where something was lost,
   * what a leader had deleted may be back, as whoever leads without it had it.
   */
  startIn({ logStartOffset }: Log): number {
    return this.hasLost ? Math.max(logStartOffset, this.deletedUpTo) : logStartOffset
  }

  /** What was replicated and is not deleted in a log. */
  keptIn(log: Log): ObservedBatch[] {
    return this.batches.filter(({ lastOffset }) => lastOffset >= this.startIn(log))
  }
}
