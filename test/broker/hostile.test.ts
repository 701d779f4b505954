// What clients do that mean harm, or do not think: the broker answers, stays up and serves the others.

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { fetch } from '../../src/protocol/apis/fetch.ts'
import {
  createPartitions,
  createTopics,
  deleteTopics,
  findCoordinator,
  incrementalAlterConfigs,
  joinGroup,
  listGroups,
  listOffsets,
  offsetCommit,
} from '../../src/protocol/apis/index.ts'
import { produce } from '../../src/protocol/apis/produce.ts'
import { ERROR_CODES } from '../../src/protocol/errors.ts'
import { encodeRequest } from '../../src/protocol/frame.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { refreshCrc, setAttributes } from '../../src/records/batch-header.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform, startTestBroker, type TestBroker, type TestConnection } from './harness.ts'

const JOIN = {
  groupId: 'g',
  sessionTimeoutMs: 10_000,
  rebalanceTimeoutMs: 10_000,
  memberId: '',
  protocolType: 'consumer',
  protocols: [{ name: 'range', metadata: new Uint8Array(2) }],
}

function askForCoordinator(connection: TestConnection): void {
  const ask = () => connection.call(findCoordinator, 4, { keyType: 0, coordinatorKeys: ['g'] }).coordinators[0]
  expect(ask().errorCode).toBe(ERROR_CODES.COORDINATOR_NOT_AVAILABLE)
  expect(ask().errorCode).toBe(0)
}

function commit(connection: TestConnection, groupId = 'g'): number {
  const partitions = [{ partitionIndex: 0, committedOffset: 1, committedMetadata: '' }]
  const request = { groupId, generationIdOrMemberEpoch: -1, memberId: '', topics: [{ name: 't', partitions }] }
  return connection.call(offsetCommit, 8, request).topics[0].partitions[0].errorCode
}

describe('__consumer_offsets', () => {
  /** A group with a member, and a second one that waits for it. */
  function withWaitingMember(): { broker: TestBroker; waiting: () => { errorCode: number } | undefined } {
    const broker = startTestBroker({ topics: [{ name: 't' }] })
    askForCoordinator(broker.connect())
    const first = broker.connect().send(joinGroup, 3, JOIN)
    broker.env.advance(1)
    expect(first()?.errorCode).toBe(0)
    const waiting = broker.connect().send(joinGroup, 3, JOIN)
    expect(waiting()).toBeUndefined()
    return { broker, waiting }
  }

  it('can be deleted: groups are gone, whoever waits is told, and it is made anew', () => {
    const { broker, waiting } = withWaitingMember()
    const connection = broker.connect()
    const { responses } = connection.call(deleteTopics, 5, { topicNames: ['__consumer_offsets'], timeoutMs: 1000 })
    expect(responses[0].errorCode).toBe(0)
    expect(waiting()?.errorCode).toBe(ERROR_CODES.NOT_COORDINATOR)
    expect(commit(connection)).toBe(ERROR_CODES.NOT_COORDINATOR)
    // Timers of members that are gone find nothing.
    broker.env.advance(60_000)
    askForCoordinator(connection)
    expect(connection.call(listGroups, 4, {}).groups).toEqual([])
    expect(commit(connection)).toBe(0)
  })
})

/** Whoever compares each with each needs minutes here, and fails by the time that a test may take. */
describe('a request with sixty thousand entries', () => {
  const NAMES = Array.from({ length: 60_000 }, (_, index) => `no.such.topic.${index}`)
  const twice = [...NAMES, NAMES[0]]

  it('is answered, and what stands there twice is found', () => {
    const connection = startTestBroker({ topics: [{ name: 't' }] }).connect()
    const offsets = connection.call(listOffsets, 6, {
      replicaId: -1,
      topics: [{ name: 't', partitions: twice.map((_, index) => ({ partitionIndex: index % 60_000, timestamp: -1 })) }],
    }).topics[0].partitions
    expect(offsets.length).toBe(60_000)
    expect(offsets.slice(0, 2).map(({ errorCode }) => errorCode)).toEqual([
      ERROR_CODES.INVALID_REQUEST,
      ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION,
    ])
    const deleted = connection.call(deleteTopics, 5, { topicNames: twice, timeoutMs: 1000 }).responses
    expect(deleted.slice(0, 2).map(({ errorCode }) => errorCode)).toEqual([
      ERROR_CODES.INVALID_REQUEST,
      ERROR_CODES.UNKNOWN_TOPIC_OR_PARTITION,
    ])
  })

  it('joins a group with as many protocols', () => {
    const broker = startTestBroker()
    askForCoordinator(broker.connect())
    const protocols = NAMES.map(name => ({ name, metadata: new Uint8Array(0) }))
    const joined = broker.connect().send(joinGroup, 3, { ...JOIN, protocols })
    broker.env.advance(1)
    expect(joined()?.protocolName).toBe(NAMES[0])
  })

  it('is no reason to overlook names that collide', () => {
    const connection = startTestBroker().connect()
    const create = (names: string[]) =>
      connection.call(createTopics, 7, {
        topics: names.map(name => ({ name, numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] })),
        timeoutMs: 1000,
      }).topics
    expect(create(['a.b', 'a_b', 'c']).map(({ errorCode }) => errorCode)).toEqual([
      0,
      ERROR_CODES.INVALID_TOPIC_EXCEPTION,
      0,
    ])
    expect(create(['a_b'])[0].errorMessage).toBe("Topic 'a_b' collides with existing topic: a.b")
    connection.call(deleteTopics, 5, { topicNames: ['a.b'], timeoutMs: 1000 })
    expect(create(['a_b'])[0].errorCode).toBe(0)
  })
})

describe('when all room in memory is used up', () => {
  const HOUR = 3_600_000

  function append(connection: TestConnection, topic: string, bytes: number) {
    const records = buildBatch({ records: [{ key: null, value: new Uint8Array(bytes) }] })
    const topicData = [{ name: topic, partitionData: [{ index: 0, records }] }]
    return connection.call(produce, 9, { acks: -1, timeoutMs: 1000, topicData }).responses[0].partitionResponses[0]
  }

  /** A broker whose every byte is taken by the topic `t`. */
  function fullBroker(configs: Record<string, string> = {}) {
    const broker = startTestBroker({ topics: [{ name: 't', configs }, { name: 'u' }], maxBytes: 300_000 })
    const connection = broker.connect()
    askForCoordinator(connection)
    for (const bytes of [50_000, 5000, 500, 50, 1]) while (append(connection, 't', bytes).errorCode === 0);
    return { broker, connection }
  }

  it('producers are told so, for good', () => {
    const { connection } = fullBroker()
    const refused = append(connection, 'u', 1)
    expect(refused.errorCode).toBe(ERROR_CODES.POLICY_VIOLATION)
    expect(refused.errorMessage).toMatch(/no space: \d+ of 300000 bytes are used/)
  })

  it('consumers join, commit and read, and topics are made', () => {
    const { broker, connection } = fullBroker()
    const joined = broker.connect().send(joinGroup, 3, JOIN)
    broker.env.advance(1)
    expect(joined()?.errorCode).toBe(0)
    for (let group = 0; group < 500; group++) expect(commit(connection, `group-${group}`)).toBe(0)
    const topics = [{ name: 'new', numPartitions: 1000, replicationFactor: 1, assignments: [], configs: [] }]
    expect(connection.call(createTopics, 7, { topics, timeoutMs: 1000 }).topics[0].errorCode).toBe(0)
    const read = (topic: string) =>
      connection.call(fetch, 11, {
        replicaId: -1,
        maxWaitMs: 0,
        minBytes: 1,
        maxBytes: 1_000_000,
        topics: [{ topic, partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1000 }] }],
      }).responses[0].partitions[0]
    expect(read('t').errorCode).toBe(0)
    expect(read('t').records?.length).toBeGreaterThan(0)
    expect(read('new').errorCode).toBe(0)
  })

  it('deleting a topic makes room at once', () => {
    const { connection } = fullBroker()
    connection.call(deleteTopics, 5, { topicNames: ['t'], timeoutMs: 1000 })
    expect(append(connection, 'u', 100_000).errorCode).toBe(0)
  })

  it('so does retention, whatever file.delete.delay.ms says', () => {
    const configs = {
      'retention.ms': String(HOUR),
      'internal.segment.bytes': '100000',
      'file.delete.delay.ms': '600000',
    }
    const { broker } = fullBroker(configs)
    broker.env.advance(HOUR + 300_000)
    expect(append(broker.connect(), 'u', 100_000).errorCode).toBe(0)
  })
})

describe('small requests that would become large', () => {
  it('that ask for two thousand million partitions are refused', () => {
    const connection = startTestBroker({ topics: [{ name: 't' }, { name: 'u' }] }).connect()
    const grow = (...counts: number[]) =>
      connection
        .call(createPartitions, 3, {
          topics: counts.map((count, at) => ({ name: ['t', 'u'][at], count, assignments: null })),
          timeoutMs: 1000,
          validateOnly: true,
        })
        .results.map(({ errorCode }) => errorCode)
    expect(grow(2_147_483_647)).toEqual([ERROR_CODES.POLICY_VIOLATION])
    expect(grow(10_001)).toEqual([0])
    expect(grow(10_001, 2)).toEqual([ERROR_CODES.POLICY_VIOLATION, ERROR_CODES.POLICY_VIOLATION])
  })

  it('that commit a hundred and fifty thousand offsets of a topic named twice are answered', () => {
    const connection = startTestBroker({ topics: [{ name: 't' }] }).connect()
    askForCoordinator(connection)
    const partition = (partitionIndex: number) => ({ partitionIndex, committedOffset: 1, committedMetadata: '' })
    const topics = [[partition(0)], Array.from({ length: 150_000 }, (_, at) => partition(at + 1))]
    const request = { groupId: 'g', generationIdOrMemberEpoch: -1, memberId: '' }
    const answer = connection.call(offsetCommit, 8, {
      ...request,
      topics: topics.map(partitions => ({ name: 't', partitions })),
    })
    expect(answer.topics.map(({ partitions }) => partitions.length)).toEqual([150_001])
  })

  it('that set a hundred and fifty thousand configs are answered', () => {
    const { env, connect } = startTestBroker()
    const configs = Array.from({ length: 150_000 }, (_, at) => ({ name: `own\n${at}`, configOperation: 0, value: '' }))
    const request = { resources: [{ resourceType: 4, resourceName: '', configs }], validateOnly: false }
    expect(connect().call(incrementalAlterConfigs, 1, request).responses[0].errorCode).toBe(0)
    // Nor do they fill the log, or break its lines.
    const told = env.lines.filter(({ message }) => message.includes('not acted on'))
    expect(told.length).toBe(10)
    expect(env.lines.filter(({ message }) => message.includes('\n'))).toEqual([])
  })

  it('with more elements than a request may have end the connection', () => {
    const broker = startTestBroker({ limits: { requestElements: 1000 } })
    const ask = (names: number) => {
      const connection = broker.connect()
      const coordinatorKeys = Array.from({ length: names }, () => '')
      connection.send(findCoordinator, 4, { keyType: 1, coordinatorKeys })
      return connection.closed
    }
    expect(ask(1000)).toBe(false)
    expect(ask(1001)).toBe(true)
  })

  it('that decompress to more than may be are refused, whatever the topic allows', () => {
    const connection = startTestBroker({ topics: [{ name: 't' }] }).connect()
    const member = gzipSync(new Uint8Array(8 * 1024 * 1024))
    const bomb = concat([
      buildBatch({ records: [{ key: null, value: null }] }).subarray(0, 61),
      ...Array.from({ length: 17 }, () => member),
    ])
    new DataView(bomb.buffer).setInt32(8, bomb.length - 12)
    setAttributes(bomb, 0, 1)
    refreshCrc(bomb, 0, platform.crc32c)
    expect(bomb.length).toBeLessThan(200_000)
    const topicData = [{ name: 't', partitionData: [{ index: 0, records: bomb }] }]
    const [topic] = connection.call(produce, 9, { acks: 1, timeoutMs: 1000, topicData }).responses
    expect(topic.partitionResponses[0]).toMatchObject({
      errorCode: ERROR_CODES.UNKNOWN_SERVER_ERROR,
      errorMessage: 'more than 134217728 bytes would come out',
    })
  })
})

describe('many connections', () => {
  it('that send large requests in pieces hold no more room than all may, and go on', () => {
    const limits = { receivedBytesTotal: 10_000_000 }
    const { cluster, connect } = startTestBroker({ limits })
    const [{ traffic }] = cluster.brokers
    const request = concat(
      encodeRequest(
        findCoordinator,
        { apiKey: findCoordinator.key, apiVersion: 4, correlationId: 0, clientId: 'test' },
        { keyType: 1, coordinatorKeys: Array.from({ length: 30 }, () => 'x'.repeat(32_000)) },
      ),
    )
    expect(request.length).toBeGreaterThan(900_000)
    const connections = Array.from({ length: 20 }, () => connect())
    for (const connection of connections) {
      connection.raw(request.slice(0, 500_000))
      connection.raw(request.slice(500_000))
      expect(connection.unread).toBeGreaterThan(0)
    }
    expect(connections.filter(({ closed }) => closed)).toEqual([])
    expect(traffic.received).toBeLessThan(limits.receivedBytesTotal)
    for (const connection of connections) connection.disconnect()
    expect(traffic).toEqual({ received: 0, unsent: 0 })
  })

  it('have their turn while one of them sends requests without end', () => {
    /** Each look at the clock takes a tenth of a millisecond. */
    class BusyEnv extends VirtualEnv {
      looks = 0
      override now(): number {
        return super.now() + Math.floor(this.looks++ / 10)
      }
    }
    const env = new BusyEnv()
    const { cluster, connect } = startTestBroker({ env })
    const [busy, other] = [connect(), connect()]
    const header = { apiKey: findCoordinator.key, apiVersion: 4, correlationId: 0, clientId: 'test' }
    const request = concat(encodeRequest(findCoordinator, header, { keyType: 1, coordinatorKeys: [] }))
    busy.raw(concat(Array.from({ length: 1000 }, () => request)))
    other.raw(request)
    const perAnswer = other.unread
    expect(perAnswer).toBeGreaterThan(0)
    expect(busy.unread).toBeGreaterThan(0)
    expect(busy.unread).toBeLessThan(100 * perAnswer)
    for (let turn = 0; turn < 100; turn++) env.advance(0)
    expect(busy.unread).toBe(1000 * perAnswer)
    busy.disconnect()
    other.disconnect()
    expect(cluster.broker(1).traffic).toEqual({ received: 0, unsent: 0 })
  })

  it('that sent half a frame and wait take little', () => {
    const { cluster, connect } = startTestBroker()
    for (let count = 0; count < 1000; count++) connect().raw(new Uint8Array([0x05, 0xf5, 0xe1, 0x00, 0, 3]))
    expect(cluster.broker(1).traffic.received).toBeLessThan(5_000_000)
  })

  it('may idle for ever where the config says so', () => {
    const { env, connect } = startTestBroker({ configs: { 'connections.max.idle.ms': '-1' } })
    const connection = connect()
    env.advance(86_400_000)
    expect(connection.closed).toBe(false)
  })
})
