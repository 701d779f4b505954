/**
 * What the model knows and the broker does not do yet, by name. Each has a probe that looks whether it does; one whose probe
 * succeeds fails its test: then it goes from this list, and its acts go into the histories. The list only gets shorter.
 */

import { Consumer } from '../../src/client/index.ts'
import { utf8Encode } from '../../src/util/utf8.ts'
import { World } from './world.ts'

export interface Pending {
  /** What is missing. */
  name: string
  /** What the histories get when it is there. */
  histories: string
  /** Whether it is there. */
  isThere: () => boolean
}

const TOPIC = 'probe'
const A_WHILE_MS = 10 * 60_000
const CONSUMER_GROUP_HEARTBEAT = 68

export const PENDING: readonly Pending[] = [
  {
    name: 'compaction',
    histories:
      'Partition.compact against the cleaner: the same compactedView of what a reader gets, at the same offsets',
    isThere: () => {
      const configs = { 'cleanup.policy': 'compact', 'internal.segment.bytes': '200' }
      const world = new World([{ name: TOPIC, partitions: 1, configs }])
      for (let index = 0; index < 20; index++) append(world)
      world.env.advance(A_WHILE_MS)
      const consumer = new Consumer(world.client, { autoOffsetReset: 'earliest' })
      const place = { topic: TOPIC, partition: 0 }
      consumer.assign([place])
      let count = 0
      while (consumer.positionNow(place)?.offset !== 20) count += world.good(consumer.poll(1000)).length
      return count < 20
    },
  },
  {
    name: 'groups of the consumer protocol (KIP-848)',
    histories: 'the histories of groups with members of either protocol',
    isThere: () => new World([]).cluster.broker(1).handlers.has(CONSUMER_GROUP_HEARTBEAT),
  },
]

function append(world: World): void {
  const records = [{ key: utf8Encode('k'), value: utf8Encode('v'), timestamp: world.env.now() }]
  world.produce(TOPIC, 0, { records }, { acks: 1 })
}
