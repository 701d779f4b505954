import type { BrokerConfig } from '../broker/configs/broker-config.ts'
import type { TopicConfig } from '../broker/configs/topic-config.ts'
import type { MetadataImage } from '../broker/metadata/image.ts'
import type { MetadataRecord } from '../broker/metadata/records.ts'
import type { Env } from '../util/env.ts'
import type { Sessions } from './sessions.ts'

/** What a decision may look at, and where it puts its records. */
export interface DecisionContext {
  readonly image: MetadataImage
  readonly env: Env
  /** The configs that defaults come from: those that all brokers have. */
  readonly config: BrokerConfig
  /** The offset that the next record will get: epochs of brokers are such offsets. */
  readonly nextOffset: number
  /** How many records this decision has appended so far. */
  readonly appended: number
  readonly sessions: Pick<Sessions, 'isAlive' | 'touch' | 'end'>
  /** The configs of a topic as all brokers see them. */
  topicConfig(topic: string): TopicConfig
  readonly quorum: Quorum
  /** What the numbers that clients know begin with. */
  readonly floor: ClusterFloor
  append(...records: MetadataRecord[]): void
}

/** The controller, and who hears of what it decides. */
export interface Quorum {
  readonly leaderId: number
  /** The offset behind the last record that counts. */
  readonly highWatermark: number
  observers(): readonly Observer[]
}

/** A broker that is up. */
interface Observer {
  readonly brokerId: number
  /** The offset behind the last record that it is known to have, and when it was heard of last. */
  readonly endOffset: number
  readonly heardAt: number
}

/** The least that a cluster gives out, so that clients never see a number go back or come again. */
export interface ClusterFloor {
  readonly leaderEpoch: number
  readonly producerId: number
}
