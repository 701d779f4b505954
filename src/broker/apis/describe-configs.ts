import { describeConfigs } from '../../protocol/apis/describe-configs.ts'
import type { Decoded } from '../../protocol/dsl.ts'
import { KafkaError } from '../../protocol/errors.ts'
import { CONFIG_TYPE_IDS } from '../configs/config-definition.ts'
import type { ConfigTypeName } from '../configs/config-row.ts'
import {
  type DescribedConfig,
  describeBrokerConfigs,
  describeGroupConfigs,
  describeTopicConfigs,
} from '../configs/describe.ts'
import { writtenValue } from '../configs/written-value.ts'
import { handler, type RequestContext } from '../handler.ts'
import { RESOURCE_TYPE } from '../metadata/image.ts'
import { checkTopicName } from '../topic-names.ts'

/** Configs of topics, brokers and groups, with where each value comes from (`ConfigHelper`). */

type Request = Decoded<typeof describeConfigs.request>
type Resource = Request['resources'][number]

export const describeConfigsHandler = handler(
  describeConfigs,
  (request, context) => {
    for (const { resourceType } of request.resources) {
      if (!KNOWN_TYPES.includes(resourceType)) throw unknownType(resourceType)
    }
    return { results: request.resources.map(resource => describeOne(resource, request, context)) }
  },
  {
    differs: ['Broker loggers and client metrics have no configs here: those resources are INVALID_REQUEST.'],
    // A type that nobody knows spoils the whole request.
    refuse: (request, error) => ({ results: request.resources.map(resource => refused(resource, error)) }),
  },
)

const KNOWN_TYPES: readonly number[] = Object.values(RESOURCE_TYPE)

function unknownType(resourceType: number): KafkaError {
  return new KafkaError('INVALID_REQUEST', `Configs of resource type ${resourceType} cannot be described`)
}

function describeOne(resource: Resource, request: Request, context: RequestContext) {
  const { resourceType, resourceName } = resource
  try {
    const wanted = wantedOf(resource.configurationKeys)
    const configs = describe(resource, request, context)
      .filter(({ name }) => wanted(name))
      .map(asParsed)
    return { errorCode: 0, errorMessage: '', resourceType, resourceName, configs }
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    return refused(resource, error)
  }
}

function refused({ resourceType, resourceName }: Resource, error: KafkaError) {
  const errorMessage = error.message === error.error ? '' : error.message
  return { errorCode: error.code, errorMessage, resourceType, resourceName, configs: [] }
}

const TYPE_NAMES = new Map(Object.entries(CONFIG_TYPE_IDS).map(([name, id]) => [id, name as ConfigTypeName]))
/** Values of the broker are told among the synonyms as they were given. */
const OWN_SOURCES = [1, 8]

function asParsed(config: DescribedConfig): DescribedConfig {
  const type = TYPE_NAMES.get(config.configType)
  const parsed = (value: string | null) => (value === null || type === undefined ? value : writtenValue(type, value))
  const synonyms = config.synonyms.map(synonym =>
    OWN_SOURCES.includes(synonym.source) ? { ...synonym, value: parsed(synonym.value) } : synonym,
  )
  return { ...config, value: parsed(config.value), synonyms }
}

/** No keys, or an empty list, ask for all. */
function wantedOf(keys: string[] | null): (name: string) => boolean {
  if (keys === null || keys.length === 0) return () => true
  const wanted = new Set(keys)
  return name => wanted.has(name)
}

function describe({ resourceType, resourceName }: Resource, options: Request, { broker }: RequestContext) {
  switch (resourceType) {
    case RESOURCE_TYPE.topic: {
      const problem = checkTopicName(resourceName)
      if (problem !== undefined) throw new KafkaError('INVALID_TOPIC_EXCEPTION', problem)
      if (!broker.image.topicsByName.has(resourceName)) throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION')
      return describeTopicConfigs(broker.replicas.topicConfig(resourceName), options)
    }
    case RESOURCE_TYPE.broker:
      if (resourceName === '') return describeBrokerConfigs(broker.config, options, { onlyDynamicDefaults: true })
      if (resourceName !== String(broker.id)) {
        throw new KafkaError(
          'INVALID_REQUEST',
          `Unexpected broker id, expected ${broker.id}, but received ${resourceName}`,
        )
      }
      return describeBrokerConfigs(broker.config, options, { onlyDynamicDefaults: false })
    case RESOURCE_TYPE.group:
      if (resourceName === '') throw new KafkaError('INVALID_REQUEST', 'Group name must not be empty')
      return describeGroupConfigs(broker.image.configsOf(RESOURCE_TYPE.group, resourceName), broker.config, options)
    default:
      throw unknownType(resourceType)
  }
}
