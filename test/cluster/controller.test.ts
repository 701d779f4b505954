/** What the controller moves: replicas, leaders, coordinators; and what clients are told of it. */

import { describe, expect, it } from 'vitest'
import type { MetadataImage } from '../../src/broker/metadata/image.ts'
import { imageRecords } from '../../src/broker/metadata/image-records.ts'
import { CONTROLLER } from '../../src/cluster/network.ts'
import { deleteTopics } from '../../src/protocol/apis/delete-topics.ts'
import { describeCluster } from '../../src/protocol/apis/describe-cluster.ts'
import { describeTopicPartitions } from '../../src/protocol/apis/describe-topic-partitions.ts'
import { electLeaders } from '../../src/protocol/apis/elect-leaders.ts'
import { fetch } from '../../src/protocol/apis/fetch.ts'
import { findCoordinator } from '../../src/protocol/apis/find-coordinator.ts'
import { listPartitionReassignments } from '../../src/protocol/apis/list-partition-reassignments.ts'
import { metadata } from '../../src/protocol/apis/metadata.ts'
import { offsetCommit } from '../../src/protocol/apis/offset-commit.ts'
import { offsetFetch } from '../../src/protocol/apis/offset-fetch.ts'
import { produce } from '../../src/protocol/apis/produce.ts'
import { unregisterBroker } from '../../src/protocol/apis/unregister-broker.ts'
import { errorName } from '../../src/protocol/errors.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { utf8Encode } from '../../src/util/utf8.ts'
import { platform } from '../broker/harness.ts'
import { ClusterWorld } from './world.ts'

const SESSION_MS = 9000

function reassignments(world: ClusterWorld) {
  return world.to(1).call(listPartitionReassignments, 0, { topics: null }).topics
}

describe('a reassignment', () => {
  it('moves the records, then the leadership, then removes the old replica', () => {
    const world = new ClusterWorld({}, { count: 4 })
    world.topic('t', [[1, 2]])
    for (const value of ['a', 'b']) world.produced(1, 't', value)
    world.cluster.network.slow(3, 1, 1000)
    world.cluster.network.slow(4, 1, 1000)
    expect(world.reassign('t', [3, 4])).toBe('NONE')
    expect(reassignments(world)[0].partitions).toMatchObject([
      { replicas: [3, 4, 1, 2], addingReplicas: [3, 4], removingReplicas: [1, 2] },
    ])
    world.env.advance(10_000)
    expect(reassignments(world)).toEqual([])
    expect(world.partition('t')).toMatchObject({ replicas: [3, 4], leader: 3, leaderEpoch: 1 })
    expect(world.partition('t').isr.toSorted()).toEqual([3, 4])
    for (const id of [3, 4]) expect(world.stored(id, 't')).toEqual(['a', 'b'])
    const { topicId } = world.cluster.image.topicsByName.get('t') as { topicId: string }
    for (const id of [1, 2]) expect(world.cluster.broker(id).replicas.find(topicId, 0)).toBeUndefined()
    expect(world.produced(3, 't', 'c')).toBe('NONE')
    expect(world.produced(1, 't', 'd')).toBe('NOT_LEADER_OR_FOLLOWER')
  })

  it('goes back when it is cancelled', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2]])
    world.cut(1, 3)
    world.cut(2, 3)
    expect(world.reassign('t', [1, 3])).toBe('NONE')
    world.env.advance(5000)
    expect(world.partition('t').replicas).toEqual([1, 3, 2])
    expect(world.reassign('t', null)).toBe('NONE')
    expect(world.partition('t')).toMatchObject({ replicas: [1, 2], isr: [1, 2], addingReplicas: [] })
    expect(world.reassign('t', null)).toBe('NO_REASSIGNMENT_IN_PROGRESS')
  })

  it('raises how many replicas there are, and lowers it', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1]])
    world.produced(1, 't', 'a')
    expect(world.reassign('t', [1, 2, 3])).toBe('NONE')
    world.env.advance(2000)
    expect(world.partition('t')).toMatchObject({ replicas: [1, 2, 3], leader: 1 })
    expect(world.partition('t').isr.toSorted()).toEqual([1, 2, 3])
    expect(world.stored(3, 't')).toEqual(['a'])
    expect(world.reassign('t', [2])).toBe('NONE')
    world.env.advance(2000)
    expect(world.partition('t')).toMatchObject({ replicas: [2], isr: [2], leader: 2 })
    expect(world.consumed(2, 't').values).toEqual(['a'])
  })
})

describe('elections', () => {
  const elect = (world: ClusterWorld, electionType: number, broker = 2) => {
    const topicPartitions = [{ topic: 't', partitions: [0] }]
    const answer = world.to(broker).call(electLeaders, 2, { electionType, topicPartitions, timeoutMs: 1000 })
    return errorName(answer.replicaElectionResults[0].partitionResult[0].errorCode)
  }

  it('bring the preferred leader back when they are asked for', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2]])
    world.cluster.node(1).kill()
    world.env.advance(SESSION_MS + 1000)
    expect(elect(world, 0)).toBe('PREFERRED_LEADER_NOT_AVAILABLE')
    world.cluster.node(1).start()
    world.env.advance(5000)
    expect(world.partition('t')).toMatchObject({ leader: 2, leaderEpoch: 1 })
    expect(elect(world, 0)).toBe('NONE')
    expect(world.partition('t')).toMatchObject({ leader: 1, leaderEpoch: 2 })
    expect(elect(world, 0)).toBe('ELECTION_NOT_NEEDED')
  })

  it('may take a replica that is behind when that is asked for, and lose records', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2]])
    world.produced(1, 't', 'a')
    world.cluster.node(2).kill()
    world.env.advance(SESSION_MS + 1000)
    world.produced(1, 't', 'lost')
    world.cluster.node(1).kill()
    world.env.advance(SESSION_MS + 1000)
    world.cluster.node(2).start()
    world.env.advance(2000)
    expect(world.partition('t').leader).toBe(-1)
    expect(elect(world, 1)).toBe('NONE')
    expect(world.partition('t')).toMatchObject({ leader: 2, isr: [2] })
    expect(world.consumed(2, 't').values).toEqual(['a'])
    world.cluster.node(1).start()
    world.env.advance(5000)
    expect(world.stored(1, 't')).toEqual(['a'])
  })
})

describe('what clients are told', () => {
  it('of brokers that are gone, and replicas that are offline', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]], { 'min.insync.replicas': '3' })
    world.cluster.node(3).kill()
    world.env.advance(SESSION_MS + 1000)
    const told = world.to(1).call(metadata, 12, { topics: [{ name: 't' }] })
    expect(told.brokers.map(({ nodeId }) => nodeId)).toEqual([1, 2])
    expect(told.topics[0].partitions[0]).toMatchObject({ isrNodes: [1, 2], offlineReplicas: [3] })
    const { brokers } = world.to(1).call(describeCluster, 2, { includeFencedBrokers: true })
    expect(brokers.map(({ brokerId, isFenced }) => [brokerId, isFenced])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ])
    const described = world.to(1).call(describeTopicPartitions, 0, { topics: [{ name: 't' }] })
    expect(described.topics[0].partitions[0]).toMatchObject({ eligibleLeaderReplicas: [3], offlineReplicas: [3] })
  })

  it('of the leader, when they ask the wrong broker (KIP-951)', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2]])
    const records = buildBatch({ records: [{ value: utf8Encode('a') }], crc32c: platform.crc32c })
    const topicData = [{ name: 't', partitionData: [{ index: 0, records }] }]
    const produced = world.to(2).call(produce, 10, { acks: 1, timeoutMs: 1000, topicData })
    expect(produced.responses[0].partitionResponses[0]).toMatchObject({
      errorCode: 6,
      currentLeader: { leaderId: 1, leaderEpoch: 0 },
    })
    expect(produced.nodeEndpoints).toMatchObject([{ nodeId: 1, host: 'broker', port: 9001 }])
  })
})

describe('a broker that is unregistered', () => {
  it('is not told any more, and may register again', () => {
    const world = new ClusterWorld()
    world.topic('t', [[3, 1]])
    world.cluster.node(3).kill()
    world.env.advance(SESSION_MS + 1000)
    expect(world.to(1).call(unregisterBroker, 0, { brokerId: 3 }).errorCode).toBe(0)
    expect(errorName(world.to(1).call(unregisterBroker, 0, { brokerId: 3 }).errorCode)).toBe('BROKER_ID_NOT_REGISTERED')
    const { brokers } = world.to(1).call(describeCluster, 2, { includeFencedBrokers: true })
    expect(brokers.map(({ brokerId }) => brokerId)).toEqual([1, 2])
    expect(world.partition('t')).toMatchObject({ replicas: [3, 1], isr: [1], leader: 1 })
    world.cluster.node(3).start()
    world.env.advance(5000)
    expect(world.partition('t').isr.toSorted()).toEqual([1, 3])
  })
})

describe('reading from a follower in the same rack (KIP-392)', () => {
  const SELECTOR = 'org.apache.kafka.common.replica.RackAwareReplicaSelector'

  it('is what the leader tells consumers to do', () => {
    const world = new ClusterWorld({ 'replica.selector.class': SELECTOR }, { racks: ['a', 'b', 'c'] })
    world.topic('t', [[1, 2, 3]])
    world.produced(1, 't', 'x')
    world.env.advance(1000)
    const topicId = world.cluster.image.topicsByName.get('t')?.topicId as string
    const ask = (broker: number, rackId: string, offset = 0) => {
      const partitions = [{ partition: 0, fetchOffset: offset, partitionMaxBytes: 1e6 }]
      const request = { maxWaitMs: 0, minBytes: 0, rackId, topics: [{ topicId, partitions }] }
      return world.to(broker).call(fetch, 13, request).responses[0].partitions[0]
    }
    expect(ask(1, 'b')).toMatchObject({ preferredReadReplica: 2, errorCode: 0 })
    expect((ask(1, 'b').records as Uint8Array).length).toBe(0)
    for (const rack of ['a', 'elsewhere', '']) expect(ask(1, rack).preferredReadReplica).toBe(-1)
    expect((ask(2, 'b').records as Uint8Array).length).toBeGreaterThan(0)
    expect(ask(2, 'b', 7).errorCode).toBe(1)
  })
})

describe('a group', () => {
  const commit = (world: ClusterWorld, broker: number, offset: number) => {
    const topics = [{ name: 't', partitions: [{ partitionIndex: 0, committedOffset: offset }] }]
    const answer = world.to(broker).call(offsetCommit, 8, { groupId: 'g', topics })
    return errorName(answer.topics[0].partitions[0].errorCode)
  }
  const find = (world: ClusterWorld, broker: number) =>
    world.to(broker).call(findCoordinator, 4, { keyType: 0, coordinatorKeys: ['g'] }).coordinators[0].nodeId

  it('has its coordinator and its offsets elsewhere when its broker dies', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    find(world, 1)
    const coordinator = find(world, 1)
    expect(commit(world, coordinator, 7)).toBe('NONE')
    const other = [1, 2, 3].find(id => id !== coordinator) as number
    expect(commit(world, other, 8)).toBe('NOT_COORDINATOR')
    world.cluster.node(coordinator).kill()
    world.env.advance(SESSION_MS + 1000)
    const next = find(world, other)
    expect(next).not.toBe(coordinator)
    const groups = [{ groupId: 'g', topics: [{ name: 't', partitionIndexes: [0] }] }]
    const fetched = world.to(next).call(offsetFetch, 8, { groups })
    expect(fetched.groups[0].topics[0].partitions[0].committedOffset).toBe(7)
    expect(commit(world, next, 9)).toBe('NONE')
  })
})

describe('a rolling restart', () => {
  it('loses nothing and ends with everybody in sync', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]], { 'min.insync.replicas': '2' })
    const values: string[] = []
    for (const id of [1, 2, 3]) {
      const stopped = world.cluster.node(id).stop()
      world.env.advance(2000)
      expect(stopped.settled).toBe(true)
      const { leader } = world.partition('t')
      values.push(`while ${id} is away`)
      expect(world.produced(leader, 't', values.at(-1) as string)).toBe('NONE')
      world.cluster.node(id).start()
      world.env.advance(5000)
      expect(world.partition('t').isr.toSorted()).toEqual([1, 2, 3])
    }
    for (const id of [1, 2, 3]) expect(world.stored(id, 't')).toEqual(values)
  })
})

describe('a broker that is paused', () => {
  it('is fenced, and joins again when it goes on', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    world.produced(1, 't', 'a')
    world.cluster.node(1).pause()
    world.env.advance(SESSION_MS + 1000)
    expect(world.partition('t')).toMatchObject({ leader: 2, isr: [2, 3] })
    expect(world.produced(2, 't', 'b')).toBe('NONE')
    world.cluster.node(1).resume()
    world.env.advance(5000)
    expect(world.partition('t').isr.toSorted()).toEqual([1, 2, 3])
    expect(world.stored(1, 't')).toEqual(['a', 'b'])
  })
})

describe('links', () => {
  it('that are slow or deliver twice change nothing but the time', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    for (const from of [-1, 1, 2, 3]) {
      for (const to of [-1, 1, 2, 3]) {
        if (from === to) continue
        world.cluster.network.slow(from, to, 50)
        world.cluster.network.double(from, to)
      }
    }
    const values = ['a', 'b', 'c', 'd']
    for (const value of values) {
      const answer = world.produce(1, 't', value, { timeoutMs: 10_000 })
      world.env.advance(1000)
      expect(answer()).toBe('NONE')
    }
    world.env.advance(2000)
    for (const id of [1, 2, 3]) expect(world.stored(id, 't')).toEqual(values)
    expect(world.partition('t')).toMatchObject({ leader: 1, isr: [1, 2, 3], partitionEpoch: 0 })
  })
})

describe('a broker that was away for longer than the controller remembers', () => {
  const contentOf = ({ image }: { image: MetadataImage }) =>
    [...imageRecords(image)].map(record => JSON.stringify(record)).toSorted()
  const forget = (world: ClusterWorld, name: string) =>
    world.to(1).call(deleteTopics, 5, { topicNames: [name], timeoutMs: 1000 })

  it('has what the controller has, though it was told what became of it only', () => {
    const world = new ClusterWorld({}, { historyRecords: 2 })
    world.topic('kept', [[1, 2, 3]])
    world.topic('gone', [[3, 1]], { 'retention.ms': '1000' })
    world.topic('made-anew', [[3]], { 'retention.ms': '1000' })
    const { topicId } = world.cluster.image.topicsByName.get('gone') as { topicId: string }
    world.produced(1, 'kept', 'a')
    world.cut(3, CONTROLLER)
    world.env.advance(2 * SESSION_MS)
    for (const name of ['gone', 'made-anew']) forget(world, name)
    world.topic('made-anew', [[2]])
    for (let index = 0; index < 10; index++) world.topic(`new-${index}`, [[1, 2]])
    expect(world.cluster.broker(3).image.topicsByName.has('gone')).toBe(true)
    world.cluster.network.heal(3, CONTROLLER)
    world.cluster.network.heal(CONTROLLER, 3)
    world.env.advance(SESSION_MS)
    const broker = world.cluster.broker(3)
    expect(broker.metadataOffset).toBe(world.cluster.metadataOffset)
    expect(contentOf(broker)).toEqual(contentOf(world.cluster))
    expect(broker.replicas.find(topicId, 0)).toBeUndefined()
    expect(world.partition('kept').isr).toContain(3)
    expect(world.stored(3, 'kept')).toEqual(['a'])
  })

  it('may as well have been dead', () => {
    const world = new ClusterWorld({}, { historyRecords: 2 })
    world.topic('kept', [[1, 2, 3]])
    world.cluster.node(3).kill()
    world.env.advance(2 * SESSION_MS)
    for (let index = 0; index < 10; index++) world.topic(`new-${index}`, [[1, 2]])
    world.produced(1, 'kept', 'a')
    world.cluster.node(3).start()
    world.env.advance(SESSION_MS)
    expect(contentOf(world.cluster.broker(3))).toEqual(contentOf(world.cluster))
    expect(world.partition('kept').isr.toSorted()).toEqual([1, 2, 3])
    expect(world.stored(3, 'kept')).toEqual(['a'])
  })
})
