import { api, array, bool, int8, int16, int32, string, struct, uuid } from '../dsl.ts'

const creatableTopicConfigs = struct({
  name: string(),
  value: string().nullable(),
  readOnly: bool(),
  configSource: int8().default(-1),
  isSensitive: bool(),
})

/**
 * Creates topics. Version 4 takes -1 for the broker's defaults (KIP-464), 5 is flexible and answers with the
 * configuration (KIP-525), 6 may be throttled (KIP-599), 7 answers with the topic id.
 */
export const createTopics = api({
  key: 19,
  name: 'CreateTopics',
  versions: [2, 7],
  flexible: 5,
  request: struct({
    topics: array(
      struct({
        name: string(),
        numPartitions: int32(),
        replicationFactor: int16(),
        // When given, the two numbers above are -1.
        assignments: array(
          struct({
            partitionIndex: int32(),
            brokerIds: array(int32()),
          }),
        ),
        configs: array(
          struct({
            name: string(),
            value: string().nullable(),
          }),
        ),
      }),
    ),
    timeoutMs: int32().default(60000),
    validateOnly: bool(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    topics: array(
      struct({
        name: string(),
        topicId: uuid().since(7).ignorable(),
        errorCode: int16(),
        errorMessage: string().nullable(),
        topicConfigErrorCode: int16().tagged(0, 5).ignorable(),
        numPartitions: int32().since(5).default(-1).ignorable(),
        replicationFactor: int16().since(5).default(-1).ignorable(),
        configs: array(creatableTopicConfigs).since(5).nullable(5).ignorable(),
      }),
    ),
  }),
})
