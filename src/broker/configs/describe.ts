import { brokerConfigDoc, topicConfigDoc } from './acted-on.ts'
import { BROKER_DEFINITIONS, type BrokerConfig, CONFIG_SOURCE, type ConfigSynonym } from './broker-config.ts'
import { CONFIG_TYPE_IDS, type ConfigDefinition, defineConfigs } from './config-definition.ts'
import { GROUP_CONFIGS } from './group-config-table.ts'
import { TOPIC_DEFINITIONS, type TopicConfig } from './topic-config.ts'

/** Configs as DescribeConfigs and CreateTopics tell them: value, source, synonyms, type. */

export interface DescribedConfig {
  name: string
  value: string | null
  readOnly: boolean
  configSource: number
  isSensitive: boolean
  synonyms: { name: string; value: string | null; source: number }[]
  configType: number
  documentation: string | null
}

export interface DescribeOptions {
  readonly includeSynonyms: boolean
  readonly includeDocumentation?: boolean
}

export const GROUP_DEFINITIONS = defineConfigs(GROUP_CONFIGS)
const GROUP_SOURCE = 8

export function describeTopicConfigs(config: TopicConfig, options: DescribeOptions): DescribedConfig[] {
  return shown(TOPIC_DEFINITIONS).map(definition => {
    const synonyms = config.synonyms(definition.name)
    return describe(definition, config.text(definition.name), synonyms, {
      readOnly: false,
      ...options,
      doc: topicConfigDoc(definition.name),
    })
  })
}

/** All configs of a broker, or only those that were set for all brokers at run time. */
export function describeBrokerConfigs(
  config: BrokerConfig,
  options: DescribeOptions,
  { onlyDynamicDefaults }: { onlyDynamicDefaults: boolean },
): DescribedConfig[] {
  return shown(BROKER_DEFINITIONS).flatMap(definition => {
    const all = config.synonyms(definition.name)
    const synonyms = onlyDynamicDefaults
      ? all.filter(({ source }) => source === CONFIG_SOURCE.dynamicDefaultBroker)
      : all
    if (onlyDynamicDefaults && synonyms.length === 0) return []
    const value = synonyms[0]?.value ?? null
    return [
      describe(definition, value, synonyms, {
        readOnly: !definition.dynamic,
        ...options,
        doc: brokerConfigDoc(definition.name),
      }),
    ]
  })
}

export function describeGroupConfigs(given: ReadonlyMap<string, string>, options: DescribeOptions): DescribedConfig[] {
  return shown(GROUP_DEFINITIONS).map(definition => {
    const own = given.get(definition.name)
    const synonyms: ConfigSynonym[] = []
    if (own !== undefined) synonyms.push({ name: definition.name, value: own, source: GROUP_SOURCE })
    if (definition.defaultValue !== null) {
      synonyms.push({ name: definition.name, value: definition.defaultValue, source: CONFIG_SOURCE.default })
    }
    return describe(definition, own ?? definition.defaultValue, synonyms, { readOnly: false, ...options })
  })
}

function shown(definitions: ReadonlyMap<string, ConfigDefinition>): ConfigDefinition[] {
  return [...definitions.values()].filter(({ internal }) => !internal)
}

function describe(
  definition: ConfigDefinition,
  value: string | null,
  synonyms: ConfigSynonym[],
  options: DescribeOptions & { readOnly: boolean; doc?: string },
): DescribedConfig {
  const isSensitive = definition.type === 'password'
  return {
    name: definition.name,
    value: isSensitive ? null : value,
    readOnly: options.readOnly,
    configSource: synonyms[0]?.source ?? CONFIG_SOURCE.default,
    isSensitive,
    synonyms: options.includeSynonyms ? synonyms.map(s => ({ ...s, value: isSensitive ? null : s.value })) : [],
    configType: CONFIG_TYPE_IDS[definition.type],
    documentation: options.includeDocumentation ? (options.doc ?? 'Kept, and not acted on.') : null,
  }
}
