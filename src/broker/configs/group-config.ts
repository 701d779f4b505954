import type { GroupConfig } from '../../coordinator/group/group-config.ts'
import { BROKER_DEFINITIONS, type BrokerConfig } from './broker-config.ts'

const MINUTE = 60_000

/** How long Kafka parks the first join of a new member; not configurable there either. */
const NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * MINUTE

/** What the group coordinator obeys, read from the broker's configs (`GroupCoordinatorConfig`). */
export function groupConfigOf(config: BrokerConfig): GroupConfig {
  return {
    minSessionTimeoutMs: config.number('group.min.session.timeout.ms'),
    maxSessionTimeoutMs: config.number('group.max.session.timeout.ms'),
    initialRebalanceDelayMs: config.number('group.initial.rebalance.delay.ms'),
    maxSize: config.number('group.max.size'),
    offsetsRetentionMs: config.number('offsets.retention.minutes') * MINUTE,
    offsetsRetentionCheckIntervalMs: config.number('offsets.retention.check.interval.ms'),
    offsetMetadataMaxBytes: config.number('offset.metadata.max.bytes'),
    offsetsCommitTimeoutMs: config.number('offsets.commit.timeout.ms'),
    newMemberJoinTimeoutMs: NEW_MEMBER_JOIN_TIMEOUT_MS,
  }
}

/**
 * What is wrong with a value of a group config that lies outside the broker's bounds, or undefined: what
 * `consumer.session.timeout.ms` may be, `group.consumer.min.session.timeout.ms` and its maximum say (`GroupConfig.validateValues`).
 */
export function outOfGroupBounds(name: string, value: string, config: BrokerConfig): string | undefined {
  const dot = name.indexOf('.')
  const bound = (end: 'min' | 'max') => {
    const key = `group.${name.slice(0, dot)}.${end}${name.slice(dot)}`
    return BROKER_DEFINITIONS.has(key) ? config.number(key) : undefined
  }
  const [min, max] = [bound('min'), bound('max')]
  const number = Number(value)
  if (min !== undefined && max !== undefined) {
    return number < min || number > max ? `${name} must be in the range ${min} to ${max} inclusive.` : undefined
  }
  if (min !== undefined && number < min) return `${name} must be greater than or equal to ${min}.`
  return undefined
}

/** What is wrong with a group's configs taken together, or undefined: a session is longer than the interval of its heartbeats. */
export function shortGroupSession(own: ReadonlyMap<string, string>, config: BrokerConfig): string | undefined {
  for (const kind of ['consumer', 'share', 'streams']) {
    const session = `${kind}.session.timeout.ms`
    const heartbeat = `${kind}.heartbeat.interval.ms`
    const inForce = (name: string) => Number(own.get(name) ?? config.number(`group.${name}`))
    if (inForce(session) <= inForce(heartbeat)) return `${session} must be greater than ${heartbeat}`
  }
  return undefined
}
