/**
 * Chooses the partition of a record as the Java producer does: a key decides by its hash, records without one stay on one
 * partition until about a batch has gone there, then move on to another (KIP-480, KIP-794, without looking at load).
 * Follows BuiltInPartitioner.
 */

import { javaPartition } from '../core/partitioners.ts'
import type { Topic } from './metadata-cache.ts'

/** Chooses a partition of `topic`; `bytes` is about what the record takes. */
export type Partitioner = (topic: Topic, key: Uint8Array | null, bytes: number) => number

interface Sticky {
  partition: number
  bytes: number
}

/**
 * The default partitioner.
 *
 * @param stickyBytes how many bytes without a key go to one partition before another is chosen
 */
export function javaPartitioner(random: () => number, stickyBytes: number): Partitioner {
  const sticky = new Map<string, Sticky>()
  const choose = ({ partitions }: Topic): number => {
    const led = partitions.filter(each => each.leaderId >= 0)
    const candidates = led.length > 0 ? led : partitions
    return candidates[Math.floor(random() * candidates.length)].partition
  }
  return (topic, key, bytes) => {
    if (key !== null) return javaPartition(key, topic.partitions.length)
    let state = sticky.get(topic.name)
    if (state === undefined || state.bytes >= stickyBytes || state.partition >= topic.partitions.length) {
      state = { partition: choose(topic), bytes: 0 }
      sticky.set(topic.name, state)
    }
    state.bytes += bytes
    return state.partition
  }
}
