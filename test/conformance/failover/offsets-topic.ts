/**
 * Committed offsets as `__consumer_offsets` has them: every commit of a group in the order in which they were appended, read from the bytes by
 * hand, as `wire.ts` reads records.
 */
import type { StoredBytes } from '../wire.ts'

export interface Commit {
  group: string
  topic: string
  partition: number
  offset: number
}

/** The commits among the records of a partition of `__consumer_offsets`. */
export function commitsIn(records: readonly StoredBytes[]): Commit[] {
  return records.flatMap(({ key, value }) => {
    // Keys of versions 0 and 1 are of offsets; without a value the offset was taken away.
    if (key === null || value === null || key.readInt16BE(0) > 1) return []
    let at = 2
    const text = () => {
      const length = key.readInt16BE(at)
      at += 2 + length
      return key.toString('utf8', at - length, at)
    }
    const group = text()
    const topic = text()
    return [{ group, topic, partition: key.readInt32BE(at), offset: Number(value.readBigInt64BE(2)) }]
  })
}
