import type { BrokerConfig, ConfigSynonym } from './broker-config.ts'
import { CONFIG_SOURCE } from './broker-config.ts'
import { defineConfigs, splitList, toNumber } from './config-definition.ts'
import { TOPIC_CONFIGS } from './topic-config-table.ts'

/**
 * The configs of a topic: its own values, else those of the broker under the synonym's name, else Kafka's default
 * (`LogConfig`, `ServerTopicConfigSynonyms`).
 */

export const TOPIC_DEFINITIONS = defineConfigs(TOPIC_CONFIGS)

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/** Per topic config, the broker configs that stand in for it, first come first served, with the factor of their unit. */
export const SYNONYMS: Readonly<Record<string, readonly (readonly [name: string, factor: number])[]>> = {
  'cleanup.policy': [['log.cleanup.policy', 1]],
  'compression.gzip.level': [['compression.gzip.level', 1]],
  'compression.lz4.level': [['compression.lz4.level', 1]],
  'compression.type': [['compression.type', 1]],
  'compression.zstd.level': [['compression.zstd.level', 1]],
  'delete.retention.ms': [['log.cleaner.delete.retention.ms', 1]],
  'file.delete.delay.ms': [['log.segment.delete.delay.ms', 1]],
  'flush.messages': [['log.flush.interval.messages', 1]],
  'flush.ms': [
    ['log.flush.interval.ms', 1],
    ['log.flush.scheduler.interval.ms', 1],
  ],
  'index.interval.bytes': [['log.index.interval.bytes', 1]],
  'local.retention.bytes': [['log.local.retention.bytes', 1]],
  'local.retention.ms': [['log.local.retention.ms', 1]],
  'max.compaction.lag.ms': [['log.cleaner.max.compaction.lag.ms', 1]],
  'max.decompressed.message.bytes': [['max.decompressed.message.bytes', 1]],
  'max.message.bytes': [['message.max.bytes', 1]],
  'message.timestamp.after.max.ms': [['log.message.timestamp.after.max.ms', 1]],
  'message.timestamp.before.max.ms': [['log.message.timestamp.before.max.ms', 1]],
  'message.timestamp.type': [['log.message.timestamp.type', 1]],
  'min.cleanable.dirty.ratio': [['log.cleaner.min.cleanable.ratio', 1]],
  'min.compaction.lag.ms': [['log.cleaner.min.compaction.lag.ms', 1]],
  'min.insync.replicas': [['min.insync.replicas', 1]],
  preallocate: [['log.preallocate', 1]],
  'remote.copy.lag.bytes': [['log.remote.copy.lag.bytes', 1]],
  'remote.copy.lag.ms': [['log.remote.copy.lag.ms', 1]],
  'retention.bytes': [['log.retention.bytes', 1]],
  'retention.ms': [
    ['log.retention.ms', 1],
    ['log.retention.minutes', MINUTE],
    ['log.retention.hours', HOUR],
  ],
  'segment.bytes': [['log.segment.bytes', 1]],
  'segment.index.bytes': [['log.index.size.max.bytes', 1]],
  'segment.jitter.ms': [
    ['log.roll.jitter.ms', 1],
    ['log.roll.jitter.hours', HOUR],
  ],
  'segment.ms': [
    ['log.roll.ms', 1],
    ['log.roll.hours', HOUR],
  ],
  'unclean.leader.election.enable': [['unclean.leader.election.enable', 1]],
}

export type TopicOverrides = ReadonlyMap<string, string>

/** What is wrong with a config given for a topic, or undefined. */
export function checkTopicConfig(name: string, value: string | null): string | undefined {
  const definition = TOPIC_DEFINITIONS.get(name)
  if (definition === undefined) return `Unknown topic config name: ${name}`
  if (value === null) return `Null value not supported for topic configs: ${name}`
  return definition.check(value)
}

/** What is wrong with all configs of a topic, each for itself and together, or undefined. */
export function checkTopicConfigs(overrides: TopicOverrides): string | undefined {
  for (const [name, value] of overrides) {
    const problem = checkTopicConfig(name, value)
    if (problem !== undefined) return problem
  }
  const inForce = (name: string) => toNumber(overrides.get(name) ?? TOPIC_DEFINITIONS.get(name)?.defaultValue ?? '')
  const [min, max] = [inForce('min.compaction.lag.ms'), inForce('max.compaction.lag.ms')]
  return min > max
    ? `conflict topic config setting min.compaction.lag.ms (${min}) > max.compaction.lag.ms (${max})`
    : undefined
}

/** Reads the configs of one topic. */
export class TopicConfig {
  readonly #overrides: TopicOverrides
  readonly #broker: BrokerConfig

  constructor(overrides: TopicOverrides, broker: BrokerConfig) {
    this.#overrides = overrides
    this.#broker = broker
  }

  /** The value in force, as text; null when there is none. */
  text(name: string): string | null {
    const own = this.#overrides.get(name)
    if (own !== undefined) return own
    for (const [synonym, factor] of SYNONYMS[name] ?? []) {
      const value = this.#broker.text(synonym)
      if (value === undefined) continue
      // A default that is not the topic's own unit still counts: 168 hours are 604800000 milliseconds.
      return factor === 1 ? value : scaled(value, factor)
    }
    return TOPIC_DEFINITIONS.get(name)?.defaultValue ?? null
  }

  number(name: string): number {
    return toNumber(this.text(name) as string)
  }

  boolean(name: string): boolean {
    return this.text(name)?.toLowerCase() === 'true'
  }

  list(name: string): string[] {
    return splitList(this.text(name) ?? '')
  }

  /** Every place where `name` has a value, the one in force first; only the first broker synonym is told, as Kafka does. */
  synonyms(name: string): ConfigSynonym[] {
    const own = this.#overrides.get(name)
    const found: ConfigSynonym[] = own === undefined ? [] : [{ name, value: own, source: CONFIG_SOURCE.topic }]
    const synonym = SYNONYMS[name]?.[0]
    return synonym === undefined ? found : [...found, ...this.#broker.synonyms(synonym[0])]
  }
}

function scaled(value: string, factor: number): string {
  const number = Number(value)
  return String(number < 0 ? number : number * factor)
}
