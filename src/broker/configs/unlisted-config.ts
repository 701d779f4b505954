import { BROKER_DEFINITIONS } from './broker-config.ts'
import { type ConfigDefinition, defineConfigs } from './config-definition.ts'

/**
 * Broker configs that may be set while a broker runs though they stand in no table: limits of replication, which DescribeConfigs
 * tells only once they are set, and names that nobody knows. Kafka keeps the latter, for the plugins they may be meant for, and
 * never tells their values (`DynamicConfig.Broker`, `DynamicBrokerConfig`).
 */

const RATES = defineConfigs([
  ['follower.replication.throttled.rate', 'long', null, '[0,...]', 'dynamic'],
  ['leader.replication.throttled.rate', 'long', null, '[0,...]', 'dynamic'],
  ['replica.alter.log.dirs.io.max.bytes.per.second', 'long', null, '[0,...]', 'dynamic'],
])

/** What is known of a broker config that no table lists. */
export function unlistedBrokerConfig(name: string): ConfigDefinition {
  return RATES.get(name) ?? unknown(name)
}

/** The names among `given` that no table lists. */
export function unlistedNames(given: Iterable<string>): string[] {
  return [...given].filter(name => !BROKER_DEFINITIONS.has(name))
}

/** True when nothing is known of a config, not even whether its value is a secret. */
export function isUnknown(name: string): boolean {
  return !BROKER_DEFINITIONS.has(name) && !RATES.has(name)
}

function unknown(name: string): ConfigDefinition {
  return { name, type: 'string', defaultValue: null, dynamic: true, internal: false, check: () => undefined }
}
