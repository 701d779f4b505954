/** What clients are told by a broker that does not reach the controller: no silence, and no broken connection. */

import { describe, expect, it } from 'vitest'
import { CONTROLLER } from '../../src/cluster/network.ts'
import { alterClientQuotas } from '../../src/protocol/apis/alter-client-quotas.ts'
import { alterConfigs } from '../../src/protocol/apis/alter-configs.ts'
import { alterPartitionReassignments } from '../../src/protocol/apis/alter-partition-reassignments.ts'
import { alterUserScramCredentials } from '../../src/protocol/apis/alter-user-scram-credentials.ts'
import { createPartitions } from '../../src/protocol/apis/create-partitions.ts'
import { createTopics } from '../../src/protocol/apis/create-topics.ts'
import { deleteTopics } from '../../src/protocol/apis/delete-topics.ts'
import { electLeaders } from '../../src/protocol/apis/elect-leaders.ts'
import { incrementalAlterConfigs } from '../../src/protocol/apis/incremental-alter-configs.ts'
import { listPartitionReassignments } from '../../src/protocol/apis/list-partition-reassignments.ts'
import { unregisterBroker } from '../../src/protocol/apis/unregister-broker.ts'
import { updateFeatures } from '../../src/protocol/apis/update-features.ts'
import type { Api } from '../../src/protocol/dsl.ts'
import { ERROR_CODES } from '../../src/protocol/errors.ts'
import { ClusterWorld } from './world.ts'

const TIMEOUT_MS = 60_000
const TIMED_OUT = { errorCode: ERROR_CODES.REQUEST_TIMED_OUT, errorMessage: null }
const newTopic = { name: 'new', numPartitions: 1, replicationFactor: 1, assignments: [], configs: [] }
const resource = { resourceType: 2, resourceName: 't', configs: [] }
const entity = [{ entityType: 'user', entityName: 'alice' }]
const credential = { name: 'alice', mechanism: 1 }
const upsertion = { ...credential, iterations: 4096, salt: new Uint8Array(1), saltedPassword: new Uint8Array(1) }

/** Each with a request, and what is in the answer. */
const CASES: [api: unknown, request: object, answer: object][] = [
  [createTopics, { topics: [newTopic], timeoutMs: 1000 }, { topics: [{ name: 'new', ...TIMED_OUT }] }],
  [
    createPartitions,
    { topics: [{ name: 't', count: 2, assignments: null }], timeoutMs: 1000, validateOnly: false },
    { results: [{ name: 't', ...TIMED_OUT }] },
  ],
  [alterConfigs, { resources: [resource], validateOnly: false }, { responses: [{ resourceName: 't', ...TIMED_OUT }] }],
  [
    incrementalAlterConfigs,
    { resources: [resource], validateOnly: false },
    { responses: [{ resourceType: 2, resourceName: 't', ...TIMED_OUT }] },
  ],
  [alterClientQuotas, { entries: [{ entity, ops: [] }], validateOnly: false }, { entries: [{ entity, ...TIMED_OUT }] }],
  [
    alterUserScramCredentials,
    { deletions: [credential], upsertions: [upsertion] },
    { results: [{ user: 'alice', ...TIMED_OUT }] },
  ],
  [
    alterPartitionReassignments,
    { topics: [{ name: 't', partitions: [{ partitionIndex: 0, replicas: [2] }] }], timeoutMs: 1000 },
    { ...TIMED_OUT, responses: [{ name: 't', partitions: [{ partitionIndex: 0, ...TIMED_OUT }] }] },
  ],
  [
    listPartitionReassignments,
    { topics: [{ name: 't', partitionIndexes: [0] }], timeoutMs: 1000 },
    { ...TIMED_OUT, topics: [{ name: 't', partitions: [{ partitionIndex: 0, replicas: [] }] }] },
  ],
  [listPartitionReassignments, { topics: null, timeoutMs: 1000 }, { ...TIMED_OUT, topics: [] }],
  [
    electLeaders,
    { electionType: 0, topicPartitions: [{ topic: 't', partitions: [0] }], timeoutMs: 1000 },
    { replicaElectionResults: [{ topic: 't', partitionResult: [{ partitionId: 0, ...TIMED_OUT }] }] },
  ],
  [electLeaders, { topicPartitions: null, timeoutMs: 1000 }, { replicaElectionResults: [] }],
  [updateFeatures, { timeoutMs: 1000, featureUpdates: [] }, TIMED_OUT],
  [unregisterBroker, { brokerId: 2 }, TIMED_OUT],
]

function cutOff(): ClusterWorld {
  const world = new ClusterWorld()
  world.topic('t', [[2, 3]])
  world.cut(1, CONTROLLER)
  return world
}

describe('a broker that does not reach the controller', () => {
  it('says in each API that the time was up', () => {
    const world = cutOff()
    for (const [untyped, request, wanted] of CASES) {
      const api = untyped as Api
      for (let version = api.versions[0]; version <= api.versions[1]; version++) {
        const asked = world.to(1).send(api, version, request as never)
        world.env.advance(TIMEOUT_MS - 1)
        expect(asked(), `${api.name} v${version}`).toBeUndefined()
        world.env.advance(1)
        expect(asked(), `${api.name} v${version}`).toMatchObject(wanted)
      }
    }
  })

  it('tells it of topics to be deleted as they were named', () => {
    const world = cutOff()
    const byName = world.to(1).send(deleteTopics, 5, { topicNames: ['t'], timeoutMs: 1000 })
    world.env.advance(TIMEOUT_MS)
    expect(byName()).toMatchObject({ responses: [{ name: 't', ...TIMED_OUT }] })
    const { topicId } = world.cluster.image.topicsByName.get('t') as { topicId: string }
    const byId = world.to(1).send(deleteTopics, 6, { topics: [{ name: null, topicId }], timeoutMs: 1000 })
    world.env.advance(TIMEOUT_MS)
    expect(byId()).toMatchObject({ responses: [{ name: null, topicId, ...TIMED_OUT }] })
  })

  it('asks again until then, once it is reached', () => {
    const world = cutOff()
    const asked = world.to(1).send(createTopics, 7, { topics: [newTopic], timeoutMs: 1000 })
    world.env.advance(TIMEOUT_MS / 2)
    expect(asked()).toBeUndefined()
    world.heal()
    world.env.advance(10_000)
    expect(asked()).toMatchObject({ topics: [{ name: 'new', errorCode: 0 }] })
    expect(world.partition('new').replicas).toHaveLength(1)
  })
})
