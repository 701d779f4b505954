// When a broker says that it has something, and what becomes of a replica whose log fails.

import { describe, expect, it } from 'vitest'
import { deleteRecords } from '../../src/protocol/apis/delete-records.ts'
import { describeLogDirs } from '../../src/protocol/apis/describe-log-dirs.ts'
import { fetch } from '../../src/protocol/apis/fetch.ts'
import { listOffsets } from '../../src/protocol/apis/list-offsets.ts'
import { metadata } from '../../src/protocol/apis/metadata.ts'
import { offsetCommit } from '../../src/protocol/apis/offset-commit.ts'
import { produce } from '../../src/protocol/apis/produce.ts'
import { ERROR_CODES, KafkaError } from '../../src/protocol/errors.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { readWhole } from '../../src/storage/read-whole.ts'
import { Later } from '../../src/util/later.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { GatedStorage } from '../support/gated-storage.ts'
import { startTestBroker, type TestConnection } from './harness.ts'

const LOG = /^t-0\/.*\.log$/
const { KAFKA_STORAGE_ERROR } = ERROR_CODES

function start(topicConfigs: Record<string, string> = {}, configs: Record<string, string> = {}) {
  const env = new VirtualEnv()
  const storage = new GatedStorage(env.turns)
  const topics = [{ name: 't', partitions: 2, configs: topicConfigs }]
  const broker = startTestBroker({ env, storage, topics, configs })
  return { ...broker, env, storage, client: broker.connect() }
}

function send(client: TestConnection, acks: number, more: { partition?: number; timeoutMs?: number } = {}) {
  const records = buildBatch({ records: [{ value: utf8Encode('x') }] })
  const { partition = 0, timeoutMs = 30_000 } = more
  const answer = client.send(produce, 11, {
    acks,
    timeoutMs,
    topicData: [{ name: 't', partitionData: [{ index: partition, records }] }],
  })
  return () => answer()?.responses[0].partitionResponses[0]
}

function read(client: TestConnection, fetchOffset = 0, maxWaitMs = 0) {
  const answer = client.send(fetch, 12, {
    maxWaitMs,
    minBytes: 1,
    topics: [{ topic: 't', partitions: [{ partition: 0, fetchOffset, partitionMaxBytes: 1e6 }] }],
  })
  return () => answer()?.responses[0].partitions[0]
}

describe('flush.messages=1', () => {
  it.each([1, -1])('answers acks=%d once it is flushed, and shows it to consumers then', acks => {
    const { client, connect, storage } = start({ 'flush.messages': '1' })
    storage.holds = LOG
    const answer = send(client, acks)
    const consumer = connect()
    expect(answer()).toBeUndefined()
    expect(read(consumer)()).toMatchObject({ errorCode: 0, highWatermark: 0 })
    storage.held[0].end()
    expect(answer()).toMatchObject({ errorCode: 0, baseOffset: 0 })
    expect(read(consumer)()).toMatchObject({ errorCode: 0, highWatermark: 1 })
  })

  it('shares one flush between all who came while another was under way', () => {
    const { connect, storage } = start({ 'flush.messages': '1' })
    storage.holds = LOG
    const answers = Array.from({ length: 10 }, () => send(connect(), 1))
    expect(storage.held.length).toBe(1)
    storage.held[0].end()
    expect(answers.map(answer => answer()?.errorCode)).toEqual([0, ...Array(9).fill(undefined)])
    expect(storage.held.length).toBe(1)
    storage.held[0].end()
    expect(answers.slice(1).map(answer => answer()?.errorCode)).toEqual(Array(9).fill(0))
    expect(storage.flushed.filter(path => LOG.test(path)).length).toBe(2)
  })

  it('waits no longer than the producer does', () => {
    const { client, storage, env } = start({ 'flush.messages': '1' })
    storage.holds = LOG
    const answer = send(client, 1, { timeoutMs: 100 })
    env.advance(99)
    expect(answer()).toBeUndefined()
    env.advance(1)
    expect(answer()).toMatchObject({ errorCode: ERROR_CODES.REQUEST_TIMED_OUT })
  })

  it('does not wait for acks=0, and not where the topic does not ask for it', () => {
    const { client, storage } = start()
    storage.holds = LOG
    expect(send(client, 1)()).toMatchObject({ errorCode: 0 })
    expect(send(client, -1)()).toMatchObject({ errorCode: 0, baseOffset: 1 })
    expect(storage.held).toEqual([])
  })

  it('may be asked of all topics by the broker', () => {
    const { client, storage } = start({}, { 'log.flush.interval.messages': '1' })
    storage.holds = LOG
    const answer = send(client, 1)
    expect(answer()).toBeUndefined()
    storage.held[0].end()
    expect(answer()).toMatchObject({ errorCode: 0 })
  })
})

it('flush.messages of more flushes in the background once so many records wait', () => {
  const { client, storage } = start({ 'flush.messages': '3' })
  storage.flushed.length = 0
  for (let count = 0; count < 2; count++) expect(send(client, 1)()).toMatchObject({ errorCode: 0 })
  expect(storage.flushed.filter(path => LOG.test(path))).toEqual([])
  storage.holds = LOG
  expect(send(client, 1)()).toMatchObject({ errorCode: 0 })
  expect(storage.held.length).toBe(1)
})

it('flush.ms flushes what has waited for so long', () => {
  const { client, storage, env } = start({ 'flush.ms': '500' })
  storage.flushed.length = 0
  send(client, 1)
  env.advance(499)
  expect(storage.flushed.filter(path => LOG.test(path))).toEqual([])
  env.advance(1)
  expect(storage.flushed.filter(path => LOG.test(path)).length).toBe(1)
  env.advance(5000)
  expect(storage.flushed.filter(path => LOG.test(path)).length).toBe(1)
})

it.each(['', '1'])('a full disk refuses for now, and no replica goes offline (flush.messages=%j)', flushMessages => {
  const { client, storage } = start(flushMessages ? { 'flush.messages': flushMessages } : {})
  expect(send(client, 1)()).toMatchObject({ errorCode: 0 })
  storage.failsToWrite = LOG
  storage.writeError = 'NO_SPACE'
  for (const acks of [1, -1]) expect(send(client, acks)()).toMatchObject({ errorCode: KAFKA_STORAGE_ERROR })
  expect(read(client)()).toMatchObject({ errorCode: 0, highWatermark: 1 })
  storage.failsToWrite = undefined
  expect(send(client, -1)()).toMatchObject({ errorCode: 0, baseOffset: 1 })
})

describe('a replica whose log fails', () => {
  it('answers the error to everybody who waits, and to all who come, and never flushes again', () => {
    const { connect, storage, env, client } = start({ 'flush.messages': '1' })
    expect(send(client, 1)()).toMatchObject({ errorCode: 0 })
    storage.holds = LOG
    const waiting = [send(connect(), 1), send(connect(), -1), read(connect(), 1, 60_000)]
    storage.held[0].end({ code: 'IO', message: 'broken' })
    for (const answer of waiting) expect(answer()).toMatchObject({ errorCode: KAFKA_STORAGE_ERROR })
    const flushes = storage.flushed.filter(path => LOG.test(path)).length
    expect(read(client)()?.errorCode).not.toBe(0)
    expect(send(client, 1)()?.errorCode).not.toBe(0)
    expect(storage.flushed.filter(path => LOG.test(path)).length).toBe(flushes)
    const lines = env.lines.filter(({ level }) => level === 'error')
    expect(lines).toMatchObject([{ fields: { partition: 't-0', error: 'broken' } }])
  })

  it('has no leader any more, while the others go on', () => {
    const { storage, client } = start({ 'flush.messages': '1' })
    storage.holds = LOG
    const answer = send(client, 1)
    storage.held[0].end({ code: 'IO', message: 'broken' })
    expect(answer()).toMatchObject({ errorCode: KAFKA_STORAGE_ERROR })
    storage.holds = undefined
    expect(send(client, 1)()).toMatchObject({ errorCode: ERROR_CODES.NOT_LEADER_OR_FOLLOWER })
    expect(send(client, 1, { partition: 1 })()).toMatchObject({ errorCode: 0 })
  })

  it('is told to clients by the metadata, to admins by the log directories', () => {
    const { storage, client, connect } = start({ 'flush.messages': '1' })
    storage.holds = LOG
    send(client, 1)
    storage.held[0].end({ code: 'IO', message: 'broken' })
    const admin = connect()
    const { topics } = admin.call(metadata, 12, { topics: [{ name: 't' }] })
    expect(topics[0].partitions.find(({ partitionIndex }) => partitionIndex === 0)).toMatchObject({
      errorCode: ERROR_CODES.LEADER_NOT_AVAILABLE,
      leaderId: -1,
      offlineReplicas: [1],
    })
    expect(topics[0].partitions.find(({ partitionIndex }) => partitionIndex === 1)).toMatchObject({ leaderId: 1 })
    const { results } = admin.call(describeLogDirs, 4, { topics: null })
    expect(results).toMatchObject([
      {
        errorCode: KAFKA_STORAGE_ERROR,
        topics: [{ name: 't', partitions: [{ partitionIndex: 0 }, { partitionIndex: 1 }] }],
      },
    ])
  })

  it('goes offline by a write that fails as well, and by a read', () => {
    for (const fault of ['failsToWrite', 'failsToRead'] as const) {
      const { storage, client, connect } = start()
      expect(send(client, 1)()).toMatchObject({ errorCode: 0 })
      storage[fault] = LOG
      const failing = fault === 'failsToWrite' ? send(client, 1) : read(client)
      expect(failing()).toMatchObject({ errorCode: KAFKA_STORAGE_ERROR })
      storage[fault] = undefined
      const { topics } = connect().call(metadata, 12, { topics: [{ name: 't' }] })
      expect(topics[0].partitions[0]).toMatchObject({ leaderId: -1 })
    }
  })

  it('answers a fetch that waits when what came cannot be looked at', () => {
    const { storage, client, connect, env, cluster } = start({ 'internal.segment.bytes': '100' })
    for (let count = 0; count < 4; count++) send(client, 1)()
    const waiting = connect().send(fetch, 12, {
      maxWaitMs: 10_000,
      minBytes: 100_000,
      topics: [{ topic: 't', partitions: [{ partition: 0, fetchOffset: 1, partitionMaxBytes: 1e6 }] }],
    })
    env.settle()
    expect(waiting()).toBeUndefined()
    const { log } = cluster.broker(1).replicas.leader('t', 0)
    log.availableBytes = () => {
      throw new KafkaError('KAFKA_STORAGE_ERROR')
    }
    storage.failsToRead = LOG
    cluster.broker(1).purgatory.wake(cluster.broker(1).replicas.leader('t', 0).key)
    env.settle()
    expect(waiting()?.responses[0].partitions[0]).toMatchObject({ errorCode: KAFKA_STORAGE_ERROR })
  })

  it('gives no offsets, deletes nothing', () => {
    const { storage, client } = start()
    expect(send(client, 1)()).toMatchObject({ errorCode: 0 })
    storage.failsToRead = LOG
    expect(read(client)()).toMatchObject({ errorCode: KAFKA_STORAGE_ERROR })
    const offsets = client.call(listOffsets, 7, {
      replicaId: -1,
      topics: [{ name: 't', partitions: [{ partitionIndex: 0, timestamp: -1 }] }],
    })
    expect(offsets.topics[0].partitions[0].errorCode).not.toBe(0)
    const deleted = client.call(deleteRecords, 2, {
      timeoutMs: 1000,
      topics: [{ name: 't', partitions: [{ partitionIndex: 0, offset: 1 }] }],
    })
    expect(deleted.topics[0].partitions[0].errorCode).not.toBe(0)
  })

  it('does not say that records are deleted while that cannot be written down, however often it is asked', () => {
    const { storage, client, env } = start()
    for (let count = 0; count < 3; count++) send(client, 1)()
    const remove = () => {
      const topics = [{ name: 't', partitions: [{ partitionIndex: 0, offset: 2 }] }]
      const answer = client.send(deleteRecords, 2, { timeoutMs: 1000, topics })
      env.settle()
      return answer()?.topics[0].partitions[0]
    }
    const { replace } = storage
    storage.replace = () => Later.of(env.turns, { code: 'NO_SPACE', message: 'the disk is full' })
    expect(remove()).toMatchObject({ errorCode: KAFKA_STORAGE_ERROR })
    expect(remove()).toMatchObject({ errorCode: KAFKA_STORAGE_ERROR })
    storage.replace = replace
    expect(remove()).toMatchObject({ errorCode: 0, lowWatermark: 2 })
    expect(utf8Decode(readWhole(storage, 'log-start-offset-checkpoint') as Uint8Array)).toBe('0\n1\nt 0 2\n')
  })

  it('is no coordinator any more', () => {
    const { storage, client } = start({}, { 'offsets.topic.num.partitions': '1' })
    const commit = () =>
      client.call(offsetCommit, 8, {
        groupId: 'g',
        generationIdOrMemberEpoch: -1,
        topics: [{ name: 't', partitions: [{ partitionIndex: 0, committedOffset: 5 }] }],
      }).topics[0].partitions[0].errorCode
    client.call(metadata, 12, { topics: [] })
    storage.failsToWrite = /^__consumer_offsets-0\/.*\.log$/
    expect(commit()).toBe(ERROR_CODES.NOT_COORDINATOR)
    storage.failsToWrite = undefined
    expect(commit()).toBe(ERROR_CODES.NOT_COORDINATOR)
  })
})
