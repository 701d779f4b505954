import { brokerConfigDoc, topicConfigDoc } from './acted-on.ts'
import { BROKER_DEFINITIONS, type BrokerConfig, CONFIG_SOURCE, type ConfigSynonym } from './broker-config.ts'
import { CONFIG_TYPE_IDS, type ConfigDefinition, defineConfigs } from './config-definition.ts'
import { GROUP_CONFIGS } from './group-config-table.ts'
import { TOPIC_DEFINITIONS, type TopicConfig } from './topic-config.ts'
import { isUnknown, unlistedBrokerConfig, unlistedNames } from './unlisted-config.ts'

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
const UNKNOWN_TYPE = 0

export function describeTopicConfigs(config: TopicConfig, options: DescribeOptions): DescribedConfig[] {
  return [...TOPIC_DEFINITIONS.values()].flatMap(definition => {
    const synonyms = config.synonyms(definition.name)
    // What is internal is told once somebody has set it.
    if (definition.internal && synonyms.length === 0) return []
    const doc = topicConfigDoc(definition.name)
    return [describe(definition, config.text(definition.name), synonyms, { readOnly: false, ...options, doc })]
  })
}

/** All configs of a broker, or only those that were set for all brokers at run time. */
export function describeBrokerConfigs(
  config: BrokerConfig,
  options: DescribeOptions,
  { onlyDynamicDefaults }: { onlyDynamicDefaults: boolean },
): DescribedConfig[] {
  const unlisted = unlistedNames(config.dynamicNames()).map(unlistedBrokerConfig)
  return [...shown(BROKER_DEFINITIONS), ...unlisted].flatMap(definition => {
    const all = config.synonyms(definition.name)
    const synonyms = onlyDynamicDefaults
      ? all.filter(({ source }) => source === CONFIG_SOURCE.dynamicDefaultBroker)
      : all
    if (onlyDynamicDefaults && synonyms.length === 0) return []
    const value = synonyms[0]?.value ?? null
    return [
      describe(definition, value, synonyms, {
        readOnly: !definition.dynamic,
        isBroker: true,
        ...options,
        doc: brokerConfigDoc(definition.name),
      }),
    ]
  })
}

/** The configs of a group: what was set for it, else what the broker says for all groups. */
export function describeGroupConfigs(
  given: ReadonlyMap<string, string>,
  config: BrokerConfig,
  options: DescribeOptions,
): DescribedConfig[] {
  return [...GROUP_DEFINITIONS.values()].flatMap(definition => {
    const { name, internal } = definition
    const own = given.get(name)
    const synonyms: ConfigSynonym[] = own === undefined ? [] : [{ name, value: own, source: GROUP_SOURCE }]
    synonyms.push(...groupDefaults(definition, config))
    // What is internal is told once somebody has set it.
    if (internal && (synonyms[0]?.source ?? CONFIG_SOURCE.default) === CONFIG_SOURCE.default) return []
    return [describe(definition, synonyms[0]?.value ?? null, synonyms, { readOnly: false, ...options })]
  })
}

/** The broker's own config for all groups, under its own name; what has none there has a fixed default. */
function groupDefaults({ name, defaultValue }: ConfigDefinition, config: BrokerConfig): ConfigSynonym[] {
  const forAll = name === 'streams.assignor.name' ? 'group.streams.assignors' : `group.${name}`
  if (BROKER_DEFINITIONS.has(forAll)) return config.synonyms(forAll)
  return defaultValue === null ? [] : [{ name, value: defaultValue, source: CONFIG_SOURCE.default }]
}

function shown(definitions: ReadonlyMap<string, ConfigDefinition>): ConfigDefinition[] {
  return [...definitions.values()].filter(({ internal }) => !internal)
}

function describe(
  definition: ConfigDefinition,
  value: string | null,
  synonyms: ConfigSynonym[],
  options: DescribeOptions & { readOnly: boolean; doc?: string; isBroker?: boolean },
): DescribedConfig {
  const unknown = options.isBroker === true && isUnknown(definition.name)
  const isSensitive = unknown || definition.type === 'password'
  return {
    name: definition.name,
    value: isSensitive ? null : value,
    readOnly: options.readOnly || unknown,
    configSource: synonyms[0]?.source ?? CONFIG_SOURCE.default,
    isSensitive,
    synonyms: options.includeSynonyms ? synonyms.map(s => ({ ...s, value: isSensitive ? null : s.value })) : [],
    configType: unknown ? UNKNOWN_TYPE : CONFIG_TYPE_IDS[definition.type],
    documentation: options.includeDocumentation ? (options.doc ?? 'Kept, and not acted on.') : null,
  }
}
