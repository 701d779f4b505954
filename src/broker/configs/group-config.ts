import type { GroupConfig } from '../../coordinator/group/group-config.ts'
import type { BrokerConfig } from './broker-config.ts'

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
