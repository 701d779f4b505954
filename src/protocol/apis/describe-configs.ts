import { api, array, bool, int8, int16, int32, string, struct } from '../dsl.ts'

const describeConfigsResourceResult = struct({
  name: string(),
  value: string().nullable(),
  readOnly: bool(),
  configSource: int8().default(-1),
  isSensitive: bool(),
  synonyms: array(
    struct({
      name: string(),
      value: string().nullable(),
      source: int8(),
    }),
  ),
  configType: int8().since(3).ignorable(),
  documentation: string().since(3).nullable().ignorable(),
})

/**
 * Tells the configuration of topics, brokers and more. Version 1 has synonyms and says where a value comes from
 * (KIP-226), 3 type and documentation (KIP-569), 4 is flexible.
 */
export const describeConfigs = api({
  key: 32,
  name: 'DescribeConfigs',
  versions: [1, 4],
  flexible: 4,
  request: struct({
    resources: array(
      struct({
        // 2: topic, 4: broker, 8: broker logger, 16: client metrics, 32: group.
        resourceType: int8(),
        resourceName: string(),
        // Null asks for all.
        configurationKeys: array(string()).nullable(),
      }),
    ),
    includeSynonyms: bool(),
    includeDocumentation: bool().since(3),
  }),
  response: struct({
    throttleTimeMs: int32(),
    results: array(
      struct({
        errorCode: int16(),
        errorMessage: string().nullable(),
        resourceType: int8(),
        resourceName: string(),
        configs: array(describeConfigsResourceResult),
      }),
    ),
  }),
})
