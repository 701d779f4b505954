// Ingest: a record goes to the main topic if it is valid and to the dead letter queue if it is not, with the reason and everything that is
// needed to try again. One poison record never stops the next. Kafka itself has no dead letter queue; this is the pattern that
// Kafka Connect and most consumers build.

import { checkCount } from './check.ts'
import type { Key } from './partitioner.ts'
import type { Topic } from './topic.ts'
import { type IngestRecord, isKey, reasonAgainst, type Validate } from './validate.ts'

/** What the dead letter queue holds, under the original key. */
export interface DeadLetter<K = string, V = unknown> {
  reason: string
  /** The record as it came. */
  record: IngestRecord<K, V>
  /** How often it was tried. */
  attempts: number
  /** When it failed last, in milliseconds. */
  failedAt: number
}

export interface IngestOptions<K extends Key, V> {
  validate: Validate<K, V>
  topic: Topic<K, V>
  dlq: Topic<K, DeadLetter<K, V>>
  /** The time of a failure; 0 if not given. */
  now?: number
}

/**
 * Takes in one record; returns where it landed, or why it did not.
 *
 * @throws TypeError if `validate` is no validator or answers with a promise; nothing changed
 * @example
 * const validate = record => record.value.amount > 0
 * ingest({ key: 'a', value: { amount: 5 } }, { validate, topic, dlq }) // { partition, offset }
 * ingest({ key: 'a', value: null }, { validate, topic, dlq }) // { reason: "Cannot read properties of null …" }
 */
export function ingest<K extends Key, V>(
  record: IngestRecord<K, V>,
  options: IngestOptions<K, V>,
): { partition: number; offset: number } | { reason: string } {
  const { validate, topic, dlq, now = 0 } = options
  checkCount('now', now)
  const reason = reasonAgainst(record, validate)
  if (reason === undefined) {
    const [partition, offset] = topic.append(record.key, record.value)
    return { partition, offset }
  }
  // A key that no topic takes is one more reason to be here, and must not be one to get lost.
  const key = isKey(record?.key) ? record.key : null
  dlq.append(key, { reason, record, attempts: 1, failedAt: now })
  return { reason }
}
