import type { BrokerConfig } from '../broker/configs/broker-config.ts'
import type { MetadataImage } from '../broker/metadata/image.ts'
import type { MetadataRecord } from '../broker/metadata/records.ts'
import type { Env } from '../util/env.ts'

/** What a decision may look at, and where it puts its records. */
export interface DecisionContext {
  readonly image: MetadataImage
  readonly env: Env
  /** The configs that defaults come from: those that all brokers have. */
  readonly config: BrokerConfig
  /** The offset that the next record will get: epochs of brokers are such offsets. */
  readonly nextOffset: number
  /** What the numbers that clients know begin with. */
  readonly floor: ClusterFloor
  append(...records: MetadataRecord[]): void
}

/** The least that a cluster gives out, so that clients never see a number go back or come again. */
export interface ClusterFloor {
  readonly leaderEpoch: number
  readonly producerId: number
}
