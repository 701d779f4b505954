/** Partitions by name, as the client keeps them in maps and puts them into requests. */

import type { TopicPartition } from '../core/assignors/assignor.ts'

export type { TopicPartition }

/** Unique, because the number behind the last colon is the partition. */
export function partitionKey({ topic, partition }: TopicPartition): string {
  return `${topic}:${partition}`
}

/** The items by what `keyOf` says of each, both in order of appearance. */
export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

/** Topic → the numbers of its partitions, which is how the protocol lists partitions. */
export function byTopic(partitions: Iterable<TopicPartition>): Map<string, number[]> {
  const topics = new Map<string, number[]>()
  for (const [topic, items] of groupBy(partitions, each => each.topic)) {
    topics.set(
      topic,
      items.map(each => each.partition),
    )
  }
  return topics
}
