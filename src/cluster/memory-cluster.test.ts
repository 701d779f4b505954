import { describe, expect, it } from 'vitest'
import { platform, TestConnection } from '../../test/broker/harness.ts'
import { fetch } from '../protocol/apis/fetch.ts'
import { findCoordinator } from '../protocol/apis/find-coordinator.ts'
import { initProducerId } from '../protocol/apis/init-producer-id.ts'
import { joinGroup } from '../protocol/apis/join-group.ts'
import { metadata } from '../protocol/apis/metadata.ts'
import { offsetCommit } from '../protocol/apis/offset-commit.ts'
import { offsetFetch } from '../protocol/apis/offset-fetch.ts'
import { produce } from '../protocol/apis/produce.ts'
import { syncGroup } from '../protocol/apis/sync-group.ts'
import { type BatchInput, buildBatch } from '../records/batch-builder.ts'
import { readRecords } from '../records/batch-reader.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { MemoryCluster } from './memory-cluster.ts'

function startCluster() {
  const env = new VirtualEnv()
  const cluster = new MemoryCluster({
    env,
    brokerId: 1,
    platform,
    configs: { 'group.initial.rebalance.delay.ms': '0', 'offsets.topic.num.partitions': '3' },
    onFatal: error => {
      throw error
    },
  })
  const began = cluster.start({ host: 'localhost', port: 9092, topics: [{ name: 'orders', partitions: 2 }] })
  env.settle()
  expect(began.value).toBeUndefined()
  const connect = () => new TestConnection(env, cluster.cluster)
  const topic = (name: string) => {
    const [found] = connect().call(metadata, 12, { topics: [{ name }], allowAutoTopicCreation: false }).topics
    return {
      errorCode: found.errorCode,
      topicId: found.topicId,
      epochs: found.partitions.map(each => each.leaderEpoch),
    }
  }
  const send = (value: string, more: Omit<BatchInput, 'records'> = {}) => {
    const records = buildBatch({ records: [{ value: utf8Encode(value) }], ...more })
    const topicData = [{ name: 'orders', partitionData: [{ index: 0, records }] }]
    const answer = connect().call(produce, 9, { acks: -1, timeoutMs: 1000, topicData })
    return answer.responses[0].partitionResponses[0].errorCode
  }
  const values = () => {
    const { topicId } = topic('orders')
    const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1e6 }]
    const answer = connect().call(fetch, 13, { maxWaitMs: 0, minBytes: 0, topics: [{ topicId, partitions }] })
    const bytes = answer.responses[0].partitions[0].records as Uint8Array
    const found: string[] = []
    for (let at = 0; at < bytes.length; ) {
      const batch = readRecords(bytes, at, platform)
      for (const record of batch) found.push(utf8Decode(record.value as Uint8Array))
      at += 12 + new DataView(bytes.buffer, bytes.byteOffset + at).getInt32(8)
    }
    return found
  }
  const later = (begin: () => { settled: boolean }) => {
    const begun = begin()
    env.settle()
    expect(begun.settled).toBe(true)
  }
  return { env, cluster, connect, topic, send, values, later }
}

type Started = ReturnType<typeof startCluster>

/** One member of the group `billing`, with what it has committed. */
function join({ connect, env }: Started) {
  const client = connect()
  client.call(findCoordinator, 4, { keyType: 0, coordinatorKeys: ['billing'] })
  const protocols = [{ name: 'range', metadata: new Uint8Array(8) }]
  const ask = { groupId: 'billing', sessionTimeoutMs: 30_000, rebalanceTimeoutMs: 30_000, protocolType: 'consumer' }
  const { memberId } = client.call(joinGroup, 7, { ...ask, protocols })
  const joined = client.send(joinGroup, 7, { ...ask, memberId, protocols })
  env.advance(1)
  const generationId = joined()?.generationId as number
  const assignments = [{ memberId, assignment: new Uint8Array(4) }]
  const group = { groupId: 'billing', generationId, memberId, protocolType: 'consumer', protocolName: 'range' }
  expect(client.call(syncGroup, 5, { ...group, assignments }).errorCode).toBe(0)
  return { client, memberId, generationId }
}

function committed({ connect }: Started) {
  const request = { groups: [{ groupId: 'billing', topics: [{ name: 'orders', partitionIndexes: [0] }] }] }
  return connect().call(offsetFetch, 8, request).groups[0].topics[0]?.partitions[0].committedOffset
}

describe('reset', () => {
  it('brings back the topics that were declared, empty, with new ids and higher epochs, and nothing else', () => {
    const started = startCluster()
    const { cluster, connect, topic, send, values, later, env } = started
    const old = connect()
    const before = topic('orders')
    send('a')
    old.call(metadata, 12, { topics: [{ name: 'made-by-itself' }], allowAutoTopicCreation: true })
    join(started)
    later(() => cluster.reset())
    expect(old.closed).toBe(true)
    const after = topic('orders')
    expect(after.topicId).not.toBe(before.topicId)
    expect(before.epochs).toEqual([0, 0])
    expect(after.epochs).toEqual([1, 1])
    expect(topic('made-by-itself').errorCode).toBe(3)
    expect(cluster.broker.groups.machines()).toEqual([])
    expect(values()).toEqual([])
    later(() => cluster.reset())
    expect(topic('orders').epochs).toEqual([2, 2])
    expect(env.lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  it('never gives out a producer id again', () => {
    const { cluster, connect, later } = startCluster()
    const ask = { transactionalId: null, transactionTimeoutMs: 0, producerId: -1, producerEpoch: -1 }
    const ids = [1, 2, 3].map(() => {
      const { producerId } = connect().call(initProducerId, 4, ask)
      later(() => cluster.reset())
      return producerId
    })
    expect(new Set(ids).size).toBe(3)
  })

  it('leaves no timer behind', () => {
    const started = startCluster()
    const { cluster, env, send, later } = started
    later(() => cluster.reset())
    const timers = env.timers
    for (let round = 0; round < 5; round++) {
      join(started)
      send('a')
      later(() => cluster.reset())
    }
    expect(env.timers).toBe(timers)
  })
})

describe('snapshot and restore', () => {
  it('bring back records, topics and committed offsets as they were, as often as wanted', () => {
    const started = startCluster()
    const { cluster, connect, topic, send, values, later } = started
    const { client, memberId, generationId } = join(started)
    send('a')
    const commit = (committedOffset: number) => {
      const topics = [{ name: 'orders', partitions: [{ partitionIndex: 0, committedOffset }] }]
      const request = { groupId: 'billing', generationIdOrMemberEpoch: generationId, memberId, topics }
      const answer = client.call(offsetCommit, 8, request)
      expect(answer.topics[0].partitions[0].errorCode).toBe(0)
    }
    commit(1)
    const before = topic('orders')
    const snapshot = cluster.snapshot()
    send('b')
    commit(2)
    expect(values()).toEqual(['a', 'b'])
    for (const round of [1, 2, 3]) {
      later(() => cluster.restore(snapshot))
      expect(client.closed).toBe(true)
      expect(values()).toEqual(['a'])
      expect(committed(started)).toBe(1)
      expect(topic('orders')).toEqual({ ...before, epochs: [round, round] })
      expect(send(`after ${round}`)).toBe(0)
      expect(values()).toEqual(['a', `after ${round}`])
      connect().call(metadata, 12, { topics: [{ name: `made-${round}` }], allowAutoTopicCreation: true })
      expect(topic(`made-${round}`).errorCode).toBe(0)
      if (round > 1) expect(topic(`made-${round - 1}`).errorCode).toBe(3)
    }
  })

  it('bring groups back without the members whose connections are gone', () => {
    const started = startCluster()
    const { cluster, later } = started
    join(started)
    const snapshot = cluster.snapshot()
    later(() => cluster.restore(snapshot))
    const groups = cluster.broker.groups.machines().flatMap(({ context }) => [...context.groups.values()])
    expect(groups.map(({ groupId, state, members }) => [groupId, state, members.size])).toEqual([
      ['billing', 'Empty', 0],
    ])
    join(started)
  })

  it('take idempotent producers that live on with the sequence that they have come to', () => {
    const { cluster, send, later } = startCluster()
    const producer = { producerId: 5, producerEpoch: 0 }
    expect(send('a', { ...producer, baseSequence: 0 })).toBe(0)
    const snapshot = cluster.snapshot()
    expect(send('b', { ...producer, baseSequence: 1 })).toBe(0)
    expect(send('gap', { ...producer, baseSequence: 7 })).toBe(45)
    later(() => cluster.restore(snapshot))
    expect(send('c', { ...producer, baseSequence: 2 })).toBe(0)
    expect(send('gap', { ...producer, baseSequence: 9 })).toBe(45)
  })
})
