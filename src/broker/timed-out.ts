import { ERROR_CODES } from '../protocol/errors.ts'
import type { ControllerMessageKind, ControllerMessages } from './link.ts'

/**
 * What clients are told when the controller could not be asked: REQUEST_TIMED_OUT in the shape of each API, as Kafka's `getErrorResponse` of its
 * request. Like there, the code says all, so that there is no message.
 */

/** The messages that are requests of clients. */
export type ForwardedKind = {
  [Kind in ControllerMessageKind]: ControllerMessages[Kind]['request'] extends { request: unknown } ? Kind : never
}[ControllerMessageKind]

type TimedOut<Kind extends ForwardedKind> = (
  request: ControllerMessages[Kind]['request']['request'],
  apiVersion: number,
) => ControllerMessages[Kind]['reply']

const ERROR = { errorCode: ERROR_CODES.REQUEST_TIMED_OUT, errorMessage: null }

const TIMED_OUT: { [Kind in ForwardedKind]: TimedOut<Kind> } = {
  createTopics: ({ topics }) => ({ topics: topics.map(({ name }) => ({ name, ...ERROR, configs: [] })) }),
  deleteTopics: ({ topics, topicNames }, apiVersion) => ({
    responses:
      apiVersion >= 6
        ? topics.map(({ name, topicId }) => ({ name, topicId, ...ERROR }))
        : topicNames.map(name => ({ name, ...ERROR })),
  }),
  createPartitions: ({ topics }) => ({ results: topics.map(({ name }) => ({ name, ...ERROR })) }),
  alterConfigs: ({ resources }) => ({ responses: resources.map(ofResource) }),
  incrementalAlterConfigs: ({ resources }) => ({ responses: resources.map(ofResource) }),
  alterClientQuotas: ({ entries }) => ({ entries: entries.map(({ entity }) => ({ ...ERROR, entity })) }),
  alterUserScramCredentials: ({ deletions, upsertions }) => ({
    results: [...new Set([...deletions, ...upsertions].map(({ name }) => name))].map(user => ({ user, ...ERROR })),
  }),
  alterPartitionReassignments: ({ topics }) => ({
    ...ERROR,
    responses: topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, ...ERROR })),
    })),
  }),
  listPartitionReassignments: ({ topics }) => ({
    ...ERROR,
    topics: (topics ?? []).map(({ name, partitionIndexes }) => ({
      name,
      partitions: partitionIndexes.map(partitionIndex => ({
        partitionIndex,
        replicas: [],
        addingReplicas: [],
        removingReplicas: [],
      })),
    })),
  }),
  electLeaders: ({ topicPartitions }) => ({
    errorCode: ERROR.errorCode,
    replicaElectionResults: (topicPartitions ?? []).map(({ topic, partitions }) => ({
      topic,
      partitionResult: partitions.map(partitionId => ({ partitionId, ...ERROR })),
    })),
  }),
  describeQuorum: () => ({ ...ERROR, topics: [] }),
  updateFeatures: () => ({ ...ERROR, results: [] }),
  unregisterBroker: () => ERROR,
}

function ofResource({ resourceType, resourceName }: { resourceType: number; resourceName: string }) {
  return { ...ERROR, resourceType, resourceName }
}

export function timedOut<Kind extends ForwardedKind>(
  kind: Kind,
  request: ControllerMessages[Kind]['request']['request'],
  apiVersion: number,
): ControllerMessages[Kind]['reply'] {
  return TIMED_OUT[kind](request, apiVersion)
}
