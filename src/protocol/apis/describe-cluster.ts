import { api, array, bool, int8, int16, int32, string, struct } from '../dsl.ts'

/**
 * Describes the nodes of the cluster (KIP-700). Version 1 asks for brokers or controllers (KIP-919), 2 can include
 * fenced brokers (KIP-1073).
 */
export const describeCluster = api({
  key: 60,
  name: 'DescribeCluster',
  versions: [0, 2],
  flexible: 0,
  request: struct({
    includeClusterAuthorizedOperations: bool(),
    // 1: brokers, 2: controllers.
    endpointType: int8().since(1).default(1),
    includeFencedBrokers: bool().since(2),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string().nullable().default(null),
    // 1: brokers, 2: controllers.
    endpointType: int8().since(1).default(1),
    clusterId: string(),
    controllerId: int32().default(-1),
    brokers: array(
      struct({
        brokerId: int32(),
        host: string(),
        port: int32(),
        rack: string().nullable().default(null),
        isFenced: bool().since(2),
      }),
    ),
    clusterAuthorizedOperations: int32().default(-2147483648),
  }),
})
