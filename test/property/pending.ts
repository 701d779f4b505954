/**
 * What the model knows and the broker does not do yet, by name. Each has a probe that looks whether it does; one whose probe
 * succeeds fails its test: then it goes from this list, and its acts go into the histories. The list only gets shorter.
 */

import { Consumer } from '../../src/client/index.ts'
import { metadata } from '../../src/protocol/apis/metadata.ts'
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
    name: 'followers fetch',
    histories:
      'ReplicatedPartition with stall() and resume() as acts of a history, acks=all that succeeds with two replicas',
    isThere: () => {
      const world = replicated()
      append(world)
      world.env.advance(A_WHILE_MS)
      return world.bounds(TOPIC, 0).end === 1
    },
  },
  {
    name: 'the in-sync replicas shrink',
    histories: 'kill() of a follower and shrinkIsr(), and with a minimum of two NotEnoughReplicasError',
    isThere: () => {
      const world = replicated()
      world.cluster.broker(2).shutdown()
      world.env.advance(A_WHILE_MS)
      return partitionOf(world, 1).isrNodes.length === 1
    },
  },
  {
    name: 'another replica leads when the leader is gone',
    histories: 'kill() of the leader and restart(), truncation by epochs, unclean election and what it loses',
    isThere: () => {
      const world = replicated()
      world.cluster.broker(1).shutdown()
      world.env.advance(A_WHILE_MS)
      return partitionOf(world, 2).leaderId === 2
    },
  },
  {
    name: 'groups of the consumer protocol (KIP-848)',
    histories: 'the histories of groups with members of either protocol',
    isThere: () => new World([]).cluster.broker(1).handlers.has(CONSUMER_GROUP_HEARTBEAT),
  },
]

function replicated(): World {
  return new World([{ name: TOPIC, assignments: [[1, 2]] }], {}, 2)
}

function append(world: World): void {
  const records = [{ key: utf8Encode('k'), value: utf8Encode('v'), timestamp: world.env.now() }]
  world.produce(TOPIC, 0, { records }, { acks: 1 })
}

function partitionOf(world: World, broker: number) {
  const client = world.connect({ bootstrap: [{ host: 'broker', port: 9000 + broker }] })
  return world.good(client.request(metadata, { topics: [{ name: TOPIC }] })).topics[0].partitions[0]
}
