import type { ErrorName } from '../protocol/errors.ts'
import type { CoordinatorRecord } from './ports.ts'

/**
 * @param next what this leads to.
 * @param appended whether the records are in the log and were applied, but are not replicated yet: they may well be
 * later.
 */
export type PutBack = (error: ErrorName, next: Decision, appended: boolean) => void

/**
 * What one decision of a coordinator collects on its way: the records to append as one batch, and what is to happen
 * once they are committed, or when that fails. It does none of it: the runtime does.
 * Follows `CoordinatorResult`, with its `appendFuture` as the two callbacks.
 */
export class Decision {
  /** The time of the decision; everything in it happened now. */
  readonly now: number
  readonly records: CoordinatorRecord[] = []
  readonly committed: ((next: Decision) => void)[] = []
  readonly failed: PutBack[] = []

  constructor(now: number) {
    this.now = now
  }

  append(...records: CoordinatorRecord[]): void {
    for (const record of records) this.records.push(record)
  }

  /** Runs `effect`, as a decision of its own, when the records of this one are replicated. */
  whenCommitted(effect: (next: Decision) => void): void {
    this.committed.push(effect)
  }

  /**
   * Runs `putBack`, as a decision of its own, when the append was refused or not replicated in time. Soft state that
   * was changed ahead of the records is put back here. It does not run when the partition moves away: then the
   * whole state goes.
   */
  whenFailed(putBack: PutBack): void {
    this.failed.push(putBack)
  }
}
