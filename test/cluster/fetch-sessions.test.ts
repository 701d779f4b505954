/** Followers name what they fetch once, and then only what changed (KIP-227); what they do not name is fetched all the same. */

import { expect, it } from 'vitest'
import type { ReplicaFetchRequest } from '../../src/broker/link.ts'
import { ClusterWorld } from './world.ts'

const LAG_MS = 30_000
const PARTITIONS = 40

/** What arrives at a broker from its followers. */
function listenTo(world: ClusterWorld, id: number): ReplicaFetchRequest[] {
  const requests: ReplicaFetchRequest[] = []
  const broker = world.cluster.broker(id)
  const receive = broker.receive.bind(broker)
  broker.receive = (kind, request) => {
    requests.push(request)
    return receive(kind, request)
  }
  return requests
}

function namedIn(requests: readonly ReplicaFetchRequest[]): number[] {
  return requests.flatMap(({ partitions }) => partitions.map(({ partitionId }) => partitionId))
}

/** Broker 1 leads all; the topic `t` has one partition, `many` has others. */
function ledByOne(): ClusterWorld {
  const world = new ClusterWorld()
  world.topic(
    'many',
    Array.from({ length: PARTITIONS }, () => [1, 2, 3]),
  )
  world.topic('t', [[1, 2, 3]])
  world.env.advance(5000)
  return world
}

it('names nothing while nothing changes', () => {
  const world = ledByOne()
  const requests = listenTo(world, 1)
  world.env.advance(10_000)
  expect(requests.length).toBeGreaterThan(20)
  expect(namedIn(requests)).toEqual([])
  expect(world.produced(1, 'many', 'a')).toBe('NONE')
  world.env.advance(10_000)
  // The offset, and then the high watermark, which followers hear of later.
  expect(new Set(namedIn(requests))).toEqual(new Set([0]))
  expect(namedIn(requests).length).toBeLessThanOrEqual(4)
  for (const id of [1, 2, 3]) expect(world.log(id, 'many')).toMatchObject({ logEndOffset: 1, highWatermark: 1 })
})

it('names everything again after a fetch was lost, and goes on from there', () => {
  const world = ledByOne()
  world.cut(1, 2)
  world.env.advance(5000)
  const requests = listenTo(world, 1)
  world.heal()
  world.env.advance(5000)
  const full = requests.filter(({ replicaId, partitions }) => replicaId === 2 && partitions.length > 0)
  expect(full.map(({ continues, partitions }) => [continues, partitions.length])).toEqual([[0, PARTITIONS + 1]])
  expect(world.produced(1, 't', 'a')).toBe('NONE')
  expect(world.stored(2, 't')).toEqual(['a'])
})

it('replicates over a link that delivers everything twice', () => {
  const world = ledByOne()
  for (const id of [2, 3]) {
    world.cluster.network.double(1, id)
    world.cluster.network.double(id, 1)
  }
  for (const value of ['a', 'b', 'c']) {
    expect(world.produced(1, 't', value)).toBe('NONE')
    world.env.advance(700)
  }
  for (const id of [1, 2, 3]) expect(world.stored(id, 't')).toEqual(['a', 'b', 'c'])
})

it('has a turn for each partition where there is more than fits into an answer', () => {
  const world = new ClusterWorld({ 'replica.fetch.response.max.bytes': '1' })
  for (const topic of ['t', 'u']) world.topic(topic, [[1, 2]])
  world.cut(1, 2)
  for (const topic of ['t', 't', 't', 'u', 'u', 'u']) {
    expect(world.produced(1, topic, 'a', { acks: 1 })).toBe('NONE')
  }
  const requests = listenTo(world, 1)
  world.heal()
  world.env.advance(10_000)
  for (const topic of ['t', 'u']) expect(world.stored(2, topic)).toEqual(['a', 'a', 'a'])
  // What a follower asks for next tells what it was given.
  const given = requests.flatMap(({ partitions }) =>
    partitions
      .filter(({ fetchOffset }) => fetchOffset > 0)
      .map(({ topicId, fetchOffset }) => ({ topicId, fetchOffset })),
  )
  const offsets = new Map<string, number>()
  for (const { topicId, fetchOffset } of given) {
    offsets.set(topicId, fetchOffset)
    for (const other of offsets.values()) expect(Math.abs(other - fetchOffset)).toBeLessThanOrEqual(1)
  }
  expect([...offsets.values()]).toEqual([3, 3])
})

it('is in sync while it fetches, though it names nothing for long', () => {
  const world = ledByOne()
  world.env.advance(10 * LAG_MS)
  world.cut(1, 2)
  expect(world.produced(1, 't', 'a', { acks: 1 })).toBe('NONE')
  world.env.advance(LAG_MS / 2)
  expect(world.partition('t').isr).toEqual([1, 2, 3])
  world.env.advance(2 * LAG_MS)
  expect(world.partition('t').isr).toEqual([1, 3])
})

it('fetches what it had left out while it could not cut its log', () => {
  const world = ledByOne()
  world.part([1], [2, 3])
  expect(world.produced(1, 't', 'lost', { acks: 1 })).toBe('NONE')
  world.env.advance(20_000)
  const { leader } = world.partition('t')
  expect(world.produced(leader, 't', 'a')).toBe('NONE')
  world.heal()
  world.env.advance(20_000)
  expect(world.partition('t').isr).toHaveLength(3)
  for (const id of [1, 2, 3]) expect(world.stored(id, 't')).toEqual(['a'])
})
