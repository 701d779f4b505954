// The admin APIs that one broker answers by itself or through its controller, held against what Apache Kafka 4.4 answered.

import { describe, expect, it } from 'vitest'
import { alterReplicaLogDirs } from '../../src/protocol/apis/alter-replica-log-dirs.ts'
import { createDelegationToken } from '../../src/protocol/apis/create-delegation-token.ts'
import { describeDelegationToken } from '../../src/protocol/apis/describe-delegation-token.ts'
import { expireDelegationToken } from '../../src/protocol/apis/expire-delegation-token.ts'
import {
  alterConfigs,
  alterPartitionReassignments,
  alterUserScramCredentials,
  createAcls,
  deleteAcls,
  describeAcls,
  describeConfigs,
  describeLogDirs,
  describeProducers,
  describeUserScramCredentials,
  electLeaders,
  incrementalAlterConfigs,
  initProducerId,
  listPartitionReassignments,
  produce,
} from '../../src/protocol/apis/index.ts'
import { renewDelegationToken } from '../../src/protocol/apis/renew-delegation-token.ts'
import { saslAuthenticate } from '../../src/protocol/apis/sasl-authenticate.ts'
import { saslHandshake } from '../../src/protocol/apis/sasl-handshake.ts'
import { ERROR_CODES } from '../../src/protocol/errors.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { crc32cJs } from '../../src/records/crc32c.ts'
import { utf8Encode } from '../../src/util/utf8.ts'
import { startTestBroker, type TestConnection } from './harness.ts'

const TOPIC = { topics: [{ name: 't', partitions: 2 }] }

describe('SASL on a plain listener', () => {
  it('is out of place in every version, and the connection goes on', () => {
    const connection = startTestBroker().connect()
    for (const version of [0, 1]) {
      const answer = connection.call(saslHandshake, version, { mechanism: 'PLAIN' })
      expect(answer).toEqual({ errorCode: ERROR_CODES.ILLEGAL_SASL_STATE, mechanisms: [] })
    }
    for (const version of [0, 1, 2]) {
      const answer = connection.call(saslAuthenticate, version, { authBytes: utf8Encode('\0a\0b') })
      expect(answer).toMatchObject({ errorCode: ERROR_CODES.ILLEGAL_SASL_STATE, sessionLifetimeMs: 0 })
      expect(answer.errorMessage).toBe('SaslAuthenticate request received after successful authentication')
    }
  })
})

describe('ACLs without an authorizer', () => {
  const acl = { resourceName: 'x', principal: 'User:a', host: '*' }
  const disabled = { errorCode: ERROR_CODES.SECURITY_DISABLED, errorMessage: 'No Authorizer is configured.' }

  it('are neither told, made nor deleted', () => {
    const connection = startTestBroker().connect()
    const filter = { resourceTypeFilter: 1, patternTypeFilter: 1, operation: 1, permissionType: 1 }
    expect(connection.call(describeAcls, 3, { ...filter, resourceNameFilter: null })).toMatchObject({
      errorCode: ERROR_CODES.SECURITY_DISABLED,
      errorMessage: 'No Authorizer is configured on the broker',
      resources: [],
    })
    const creations = [1, 2].map(() => ({ ...acl, resourceType: 2, operation: 3, permissionType: 3 }))
    expect(connection.call(createAcls, 1, { creations }).results).toEqual([disabled, disabled])
    expect(connection.call(createAcls, 3, { creations: [] }).results).toEqual([])
    expect(connection.call(deleteAcls, 2, { filters: [filter, filter] }).filterResults).toEqual(
      [1, 2].map(() => ({ ...disabled, matchingAcls: [] })),
    )
  })

  it('close the connection over a code that means unknown', () => {
    const broker = startTestBroker()
    const closed = (send: (connection: TestConnection) => void) => {
      const connection = broker.connect()
      send(connection)
      return connection.closed
    }
    const filter = { resourceTypeFilter: 1, patternTypeFilter: 1, operation: 1, permissionType: 1 }
    for (const name of ['resourceTypeFilter', 'patternTypeFilter', 'operation', 'permissionType']) {
      const unknown = { ...filter, [name]: 0 }
      expect(closed(connection => connection.send(describeAcls, 3, unknown))).toBe(true)
      expect(closed(connection => connection.send(deleteAcls, 3, { filters: [filter, unknown] }))).toBe(true)
    }
    const creations = [{ ...acl, resourceType: 0, operation: 3, permissionType: 3 }]
    expect(closed(connection => connection.send(createAcls, 3, { creations }))).toBe(true)
    expect(closed(connection => connection.send(describeAcls, 3, { ...filter, operation: 99 }))).toBe(false)
  })
})

describe('delegation tokens on a plain listener', () => {
  const NOT_ALLOWED = { errorCode: ERROR_CODES.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED }

  it('are not given, prolonged, ended or told', () => {
    const connection = startTestBroker().connect()
    for (const version of [1, 2]) {
      expect(connection.call(createDelegationToken, version, { maxLifetimeMs: -1 })).toMatchObject({
        ...NOT_ALLOWED,
        principalType: 'User',
        principalName: 'ANONYMOUS',
        issueTimestampMs: -1,
      })
    }
    const owner = { ownerPrincipalType: 'User', ownerPrincipalName: 'bob' }
    expect(connection.call(createDelegationToken, 3, owner)).toMatchObject({
      ...NOT_ALLOWED,
      principalName: 'bob',
      tokenRequesterPrincipalName: 'ANONYMOUS',
    })
    expect(connection.call(renewDelegationToken, 2, {})).toMatchObject({ ...NOT_ALLOWED, expiryTimestampMs: -1 })
    expect(connection.call(expireDelegationToken, 2, {})).toMatchObject({ ...NOT_ALLOWED, expiryTimestampMs: -1 })
    expect(connection.call(describeDelegationToken, 3, { owners: null })).toMatchObject({ ...NOT_ALLOWED, tokens: [] })
  })
})

describe('SCRAM credentials', () => {
  const credential = (name: string, mechanism: number, iterations: number) => ({
    name,
    mechanism,
    iterations,
    salt: utf8Encode('salt'),
    saltedPassword: utf8Encode('salted password'),
  })

  function start() {
    const broker = startTestBroker()
    const connection = broker.connect()
    function alter(changes: {
      deletions?: { name: string; mechanism: number }[]
      upsertions?: ReturnType<typeof credential>[]
    }) {
      const { results } = connection.call(alterUserScramCredentials, 0, changes)
      return Object.fromEntries<string | number>(
        results.map(({ user, errorCode, errorMessage }) => [user, errorMessage ?? errorCode]),
      )
    }
    const described = (...users: string[]) =>
      connection.call(describeUserScramCredentials, 0, { users: users.map(name => ({ name })) })
    return { broker, alter, described }
  }

  it('are set, told without their keys, changed and deleted', () => {
    const { broker, alter, described } = start()
    expect(alter({ upsertions: [credential('u', 1, 4096), credential('v', 2, 16384)] })).toEqual({ u: 0, v: 0 })
    expect(alter({ upsertions: [credential('u', 2, 5000)] })).toEqual({ u: 0 })
    expect(described().results).toEqual([
      {
        user: 'u',
        errorCode: 0,
        errorMessage: '',
        credentialInfos: [
          { mechanism: 1, iterations: 4096 },
          { mechanism: 2, iterations: 5000 },
        ],
      },
      { user: 'v', errorCode: 0, errorMessage: '', credentialInfos: [{ mechanism: 2, iterations: 16384 }] },
    ])
    const [kept] = broker.cluster.broker(1).image.scram.of('u')
    expect(kept.storedKey).toHaveLength(32)
    expect(kept).not.toHaveProperty('saltedPassword')
    expect(alter({ deletions: [{ name: 'u', mechanism: 1 }] })).toEqual({ u: 0 })
    expect(alter({ deletions: [{ name: 'u', mechanism: 1 }] })).toEqual({
      u: 'Attempt to delete a user credential that does not exist',
    })
    expect(described('u').results[0].credentialInfos).toEqual([{ mechanism: 2, iterations: 5000 }])
    expect(alter({ deletions: [{ name: 'u', mechanism: 2 }] })).toEqual({ u: 0 })
    expect(described('u', 'w', 'w').results.map(({ errorCode }) => errorCode)).toEqual([
      ERROR_CODES.RESOURCE_NOT_FOUND,
      ERROR_CODES.DUPLICATE_RESOURCE,
    ])
  })

  it('are refused for a reason each, and others in the request are set', () => {
    const { alter } = start()
    const twice = 'A user credential cannot be altered twice in the same request'
    expect(
      alter({
        deletions: [
          { name: 'nobody', mechanism: 1 },
          { name: 'odd', mechanism: 9 },
        ],
        upsertions: [
          credential('nobody', 1, 4096),
          credential('few', 1, 4095),
          credential('many', 2, 16385),
          credential('odder', 0, 1),
          credential('', 9, 1),
          credential('twice', 1, 4096),
          credential('twice', 2, 1),
          { ...credential('empty', 1, 4096), saltedPassword: new Uint8Array(0) },
          credential('good', 1, 4096),
        ],
      }),
    ).toEqual({
      nobody: 'Attempt to delete a user credential that does not exist',
      odd: 'Unknown SCRAM mechanism',
      few: 'Too few iterations',
      many: 'Too many iterations',
      odder: 'Unknown SCRAM mechanism',
      '': 'Username must not be empty',
      twice,
      empty: 'The salted password is empty',
      good: 0,
    })
    // What was there before is not deleted either when a user stands in the request twice.
    expect(alter({ deletions: [{ name: 'good', mechanism: 1 }], upsertions: [credential('good', 2, 4096)] })).toEqual({
      good: twice,
    })
    expect(alter({ deletions: [{ name: 'good', mechanism: 1 }] })).toEqual({ good: 0 })
  })
})

describe('reassignments', () => {
  function reassign(connection: TestConnection, replicas: number[] | null, name = 't', partitionIndex = 0) {
    const topics = [{ name, partitions: [{ partitionIndex, replicas }] }]
    return connection.call(alterPartitionReassignments, 1, { topics }).responses[0].partitions[0]
  }

  it('to where the replicas are succeed, others say why not', () => {
    const connection = startTestBroker(TOPIC).connect()
    expect(reassign(connection, [1])).toEqual({ partitionIndex: 0, errorCode: 0, errorMessage: null })
    const { INVALID_REPLICA_ASSIGNMENT, NO_REASSIGNMENT_IN_PROGRESS, UNKNOWN_TOPIC_OR_PARTITION } = ERROR_CODES
    for (const replicas of [[], [1, 1], [-1], [1, 99]]) {
      expect(reassign(connection, replicas).errorCode, String(replicas)).toBe(INVALID_REPLICA_ASSIGNMENT)
    }
    expect(reassign(connection, [1, 1]).errorMessage).toContain('includes the broker 1 more than once')
    expect(reassign(connection, null)).toMatchObject({ errorCode: NO_REASSIGNMENT_IN_PROGRESS, errorMessage: null })
    expect(reassign(connection, null, 'missing').errorCode).toBe(UNKNOWN_TOPIC_OR_PARTITION)
    for (const index of [9, -1])
      expect(reassign(connection, [1], 't', index).errorCode).toBe(UNKNOWN_TOPIC_OR_PARTITION)
    expect(connection.call(alterPartitionReassignments, 0, { topics: [] })).toMatchObject({ errorMessage: '' })
    for (const topics of [null, [], [{ name: 't', partitionIndexes: [0, 9] }]]) {
      expect(connection.call(listPartitionReassignments, 0, { topics }).topics).toEqual([])
    }
  })
})

describe('elections', () => {
  it('are not needed where the preferred replica leads', () => {
    const connection = startTestBroker(TOPIC).connect()
    const topicPartitions = [
      { topic: 't', partitions: [0, 9] },
      { topic: 'missing', partitions: [3] },
    ]
    for (const [version, electionType] of [
      [0, 0],
      [1, 0],
      [2, 1],
    ]) {
      const request = version === 0 ? { topicPartitions } : { topicPartitions, electionType }
      const { replicaElectionResults } = connection.call(electLeaders, version, request)
      expect(replicaElectionResults).toEqual([
        {
          topic: 't',
          partitionResult: [
            { partitionId: 0, errorCode: 84, errorMessage: 'Leader election not needed for topic partition.' },
            { partitionId: 9, errorCode: 3, errorMessage: 'No such partition as t-9' },
          ],
        },
        {
          topic: 'missing',
          partitionResult: [{ partitionId: 3, errorCode: 3, errorMessage: 'No such topic as missing' }],
        },
      ])
    }
    expect(connection.call(electLeaders, 0, { topicPartitions: null }).replicaElectionResults).toEqual([
      { topic: 't', partitionResult: [] },
    ])
    expect(connection.call(electLeaders, 2, { electionType: 9, topicPartitions })).toMatchObject({
      errorCode: ERROR_CODES.INVALID_REQUEST,
    })
  })
})

describe('log directories', () => {
  it('there is one, and replicas can only be moved to where they are', () => {
    const connection = startTestBroker(TOPIC).connect()
    const [{ logDir }] = connection.call(describeLogDirs, 4, { topics: null }).results
    const topics = [
      { name: 't', partitions: [0, 7] },
      { name: 'missing', partitions: [0] },
    ]
    const codes = (path: string) =>
      connection
        .call(alterReplicaLogDirs, 2, { dirs: [{ path, topics }] })
        .results.flatMap(({ partitions }) => partitions.map(({ errorCode }) => errorCode))
    expect(codes(logDir)).toEqual([0, 3, 3])
    expect(codes('/elsewhere')).toEqual([57, 57, 57])
  })
})

describe('DescribeProducers', () => {
  it('tells the last sequence and time of each', () => {
    const { connect, env } = startTestBroker(TOPIC)
    const connection = connect()
    const { producerId } = connection.call(initProducerId, 4, { transactionalId: null, transactionTimeoutMs: 1000 })
    const records = buildBatch({
      records: ['a', 'b'].map((text, at) => ({ value: utf8Encode(text), timestamp: env.now() + at })),
      crc32c: crc32cJs,
      producerId,
      producerEpoch: 0,
      baseSequence: 0,
    })
    const topicData = [{ name: 't', partitionData: [{ index: 0, records }] }]
    connection.call(produce, 9, { acks: 1, timeoutMs: 1000, topicData })
    const topics = [
      { name: 't', partitionIndexes: [0, 1, 5] },
      { name: 'bad name', partitionIndexes: [0] },
    ]
    const described = connection.call(describeProducers, 0, { topics }).topics
    expect(described[0].partitions.map(({ errorCode }) => errorCode)).toEqual([0, 0, 3])
    expect(described[0].partitions[0].activeProducers).toEqual([
      {
        producerId,
        producerEpoch: 0,
        lastSequence: 1,
        lastTimestamp: env.now() + 1,
        coordinatorEpoch: -1,
        currentTxnStartOffset: -1,
      },
    ])
    expect(described[0].partitions[1].activeProducers).toEqual([])
    expect(described[1].partitions[0].errorCode).toBe(ERROR_CODES.INVALID_TOPIC_EXCEPTION)
  })
})

describe('configs that stand in no table', () => {
  const BROKER = 4
  const GROUP = 32

  function start(configs: Record<string, string> = {}) {
    const connection = startTestBroker({ configs }).connect()
    const described = (resourceType: number, resourceName: string, configurationKeys: string[]) => {
      const resources = [{ resourceType, resourceName, configurationKeys }]
      return connection.call(describeConfigs, 4, { resources, includeSynonyms: true }).results[0].configs
    }
    const set = (name: string, value: string) => {
      const resources = [{ resourceType: BROKER, resourceName: '1', configs: [{ name, configOperation: 0, value }] }]
      return connection.call(incrementalAlterConfigs, 1, { resources }).responses[0].errorCode
    }
    return { connection, described, set }
  }

  it('of brokers are kept, and told once they are set', () => {
    const { described, set } = start()
    const [rate, odd] = ['leader.replication.throttled.rate', 'no.such.thing']
    expect(described(BROKER, '1', [rate, odd])).toEqual([])
    expect(set(rate, '1000')).toBe(0)
    expect(set(odd, '1000')).toBe(0)
    const told = described(BROKER, '1', [rate, odd])
    expect(told.find(({ name }) => name === rate)).toMatchObject({
      value: '1000',
      readOnly: false,
      configSource: 2,
      isSensitive: false,
      configType: 5,
    })
    expect(told.find(({ name }) => name === odd)).toMatchObject({
      value: null,
      readOnly: true,
      configSource: 2,
      isSensitive: true,
      synonyms: [{ name: odd, value: null, source: 2 }],
      configType: 0,
    })
    for (const value of ['-1', 'x']) expect(set(rate, value)).toBe(ERROR_CODES.INVALID_REQUEST)
  })

  it('of brokers are dropped when all others are replaced', () => {
    const { connection, described, set } = start()
    set('no.such.thing', '1')
    const resources = [{ resourceType: BROKER, resourceName: '1', configs: [] }]
    expect(connection.call(alterConfigs, 2, { resources }).responses[0].errorCode).toBe(0)
    expect(described(BROKER, '1', ['no.such.thing'])).toEqual([])
  })

  it('of groups have the defaults that the broker has for all of them', () => {
    const { described } = start({
      'group.consumer.session.timeout.ms': '50000',
      'group.share.assignor.offload.enable': 'false',
    })
    const session = 'consumer.session.timeout.ms'
    expect(described(GROUP, 'g', [session])).toMatchObject([
      {
        value: '50000',
        configSource: 4,
        synonyms: [
          { name: `group.${session}`, value: '50000', source: 4 },
          { name: `group.${session}`, value: '45000', source: 5 },
        ],
      },
    ])
    const internal = ['share.assignor.offload.enable', 'consumer.assignor.offload.enable', 'streams.assignor.name']
    expect(described(GROUP, 'g', internal).map(({ name, value }) => [name, value])).toEqual([
      ['share.assignor.offload.enable', 'false'],
      ['streams.assignor.name', 'sticky'],
    ])
  })
})
