// Compaction: a log as a table. Only the last record of each key counts, and one with a null value (a tombstone) deletes its key.
// Follows LogCleaner; compactedView is what a reader who starts at the beginning ends up with.

import { checkType } from './check.ts'
import type { Partition, Rec } from './partition.ts'
import { isBytes } from './partitioner.ts'

/** What counts of a record. */
interface Keyed<K, V> {
  key: K | null
  value: V
}

/**
 * The latest value of each key, in the order of the last write; deleted keys are not there.
 *
 * @throws TypeError if a record has no key
 * @example compactedView([{ key: 'a', value: 1 }, { key: 'b', value: 2 }, { key: 'a', value: null }]) // Map { b → 2 }
 */
export function compactedView<K, V>(
  source: Partition<K, V> | Iterable<Readonly<Keyed<K, V>>>,
): Map<K, Exclude<V, null>> {
  const records = 'startOffset' in source ? allOf(source) : source
  const last = lastOfEachKey(records).filter(record => record.value !== null)
  return new Map(last.map(record => [record.key as K, record.value as Exclude<V, null>]))
}

function allOf<K, V>(partition: Partition<K, V>): Rec<K, V>[] {
  return partition.read(partition.startOffset, partition.length)
}

/** The last record of each key, in order. Keys of bytes are equal if their bytes are. */
export function lastOfEachKey<K, T extends Keyed<K, unknown>>(records: Iterable<T>): T[] {
  const last = new Map<unknown, T>()
  for (const record of records) {
    const { key } = record
    checkType(key !== null && key !== undefined, 'key', 'set in every record', key)
    const identity = isBytes(key) ? `bytes ${key.join()}` : typeof key === 'string' ? `string ${key}` : key
    // Deleting first puts the key at the end: the order is that of the last write.
    last.delete(identity)
    last.set(identity, record)
  }
  return [...last.values()]
}
