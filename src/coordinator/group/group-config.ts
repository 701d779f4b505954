/**
 * The broker configs that the group coordinator obeys, read anew for each decision so that they may change while it
 * runs. Not a config table: the broker has that. Follows `GroupCoordinatorConfig`.
 */

export interface GroupConfig {
  /** `group.min.session.timeout.ms`: what a classic member may ask for at least. */
  minSessionTimeoutMs: number
  /** `group.max.session.timeout.ms` */
  maxSessionTimeoutMs: number
  /** `group.initial.rebalance.delay.ms`: how long an empty group waits for more members after the first joined. */
  initialRebalanceDelayMs: number
  /** `group.max.size`: members that a group may have. */
  maxSize: number
  /** `offsets.retention.minutes`, in milliseconds. */
  offsetsRetentionMs: number
  /** `offsets.retention.check.interval.ms` */
  offsetsRetentionCheckIntervalMs: number
  /** `offset.metadata.max.bytes`: longest text that may be committed beside an offset. */
  offsetMetadataMaxBytes: number
  /** `offsets.commit.timeout.ms`: how long a reply waits for its records to be replicated. */
  offsetsCommitTimeoutMs: number
  /** How long the first join of a new member may be parked; a constant in Kafka. */
  newMemberJoinTimeoutMs: number
}

/** Kafka's defaults. */
export const DEFAULT_GROUP_CONFIG: GroupConfig = {
  minSessionTimeoutMs: 6_000,
  maxSessionTimeoutMs: 1_800_000,
  initialRebalanceDelayMs: 3_000,
  maxSize: 2_147_483_647,
  offsetsRetentionMs: 604_800_000,
  offsetsRetentionCheckIntervalMs: 600_000,
  offsetMetadataMaxBytes: 4_096,
  offsetsCommitTimeoutMs: 5_000,
  newMemberJoinTimeoutMs: 300_000,
}
