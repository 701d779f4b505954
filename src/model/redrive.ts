// Redrive: once the validator is fixed, what is in the dead letter queue gets another try. Progress is the committed offset of the group
// `redrive` on the queue, so that a second run does nothing twice; what fails again is appended to the queue anew, behind the end of
// this run. Nothing is lost and nothing lands twice.

import { checkCount, checkInteger } from './check.ts'
import type { DeadLetter } from './ingest.ts'
import type { Key } from './partitioner.ts'
import type { Topic, TopicRecord } from './topic.ts'
import { reasonAgainst, type Validate } from './validate.ts'

const GROUP = 'redrive'
const MANY = Number.MAX_SAFE_INTEGER

export interface RedriveOptions<K extends Key, V> {
  validate: Validate<K, V>
  topic: Topic<K, V>
  /** Where records go that failed more than `maxAttempts` times; without it they stay in the queue. */
  parked?: Topic<K, DeadLetter<K, V>>
  /** Which dead letters to try; the others are appended to the queue anew, as they are. */
  filter?: (letter: DeadLetter<K, V>, record: TopicRecord<K, DeadLetter<K, V>>) => boolean
  /** How many records of the queue to take at most, filtered ones included. */
  limit?: number
  maxAttempts?: number
  /** Reports what would happen and changes nothing. */
  dryRun?: boolean
  /** The time of a failure; 0 if not given. */
  now?: number
}

export interface RedriveReport {
  landed: number
  /** Failed again and back in the queue. */
  failed: number
  /** Failed too often. */
  parked: number
  skipped: number
}

/** What to do with one record of the queue. */
type Step = () => void

/**
 * Puts dead letters back into the main topic, in order and under their original key. A run ends where the queue ended when it began.
 *
 * @throws RangeError if somebody else is in the group `redrive` of the queue, or a number is not in range
 * @throws TypeError if `validate` is no validator or answers with a promise
 * @example redrive(dlq, { validate, topic, parked, maxAttempts: 3 }) // { landed: 2, failed: 1, parked: 0, skipped: 0 }
 */
export function redrive<K extends Key, V>(
  dlq: Topic<K, DeadLetter<K, V>>,
  options: RedriveOptions<K, V>,
): RedriveReport {
  const { validate, topic, parked, filter, limit = MANY, maxAttempts = MANY, dryRun = false, now = 0 } = options
  checkCount('limit', limit)
  checkInteger('maxAttempts', maxAttempts, 1)
  checkCount('now', now)
  const report: RedriveReport = { landed: 0, failed: 0, parked: 0, skipped: 0 }
  const steps: Step[] = []

  // First decide, then act: a filter or a validator that throws half-way leaves everything as it was.
  const { records, progress } = waiting(dlq, limit)
  for (const record of records) {
    const letter = letterIn(record)
    if (filter !== undefined && !filter(letter, record)) {
      report.skipped++
      steps.push(() => dlq.append(record.key, letter))
      continue
    }
    const reason = reasonAgainst(letter.record, validate)
    if (reason === undefined) {
      report.landed++
      steps.push(() => topic.append(record.key, letter.record.value))
      continue
    }
    const again = { reason, record: letter.record, attempts: letter.attempts + 1, failedAt: now }
    const parks = parked !== undefined && again.attempts > maxAttempts
    report[parks ? 'parked' : 'failed']++
    steps.push(() => (parks ? parked : dlq).append(record.key, again))
  }
  if (dryRun) return report
  // Refused while the group has members; therefore it comes before the rest.
  dlq.alterOffsets(GROUP, progress)
  for (const step of steps) step()
  return report
}

/** What the group has not done yet, at most `limit`, and the offsets it is done with afterwards. */
function waiting<K extends Key, V>(dlq: Topic<K, V>, limit: number) {
  const records: TopicRecord<K, V>[] = []
  const progress = new Map<number, number>()
  for (let partition = 0; partition < dlq.numPartitions; partition++) {
    const committed = dlq.committed(GROUP, partition)
    // A committed offset beyond the end starts at the earliest record, as for every reader.
    const start = committed > dlq.endOffset(partition) ? 0 : committed
    const taken = dlq.read(partition, start, limit - records.length)
    records.push(...taken)
    if (taken.length > 0) progress.set(partition, start + taken.length)
  }
  return { records, progress }
}

/** What somebody put into the queue by hand counts as a record that was not tried yet. */
function letterIn<K extends Key, V>(record: TopicRecord<K, DeadLetter<K, V>>): DeadLetter<K, V> {
  const letter: Partial<DeadLetter<K, V>> | null | undefined = record.value
  if (Number.isInteger(letter?.attempts) && 'record' in letter!) return letter as DeadLetter<K, V>
  const { key, value } = record
  return { reason: 'not a dead letter', record: { key, value: value as V }, attempts: 0, failedAt: 0 }
}
