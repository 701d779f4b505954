import type { alterClientQuotas } from '../protocol/apis/alter-client-quotas.ts'
import type { alterConfigs } from '../protocol/apis/alter-configs.ts'
import type { alterPartitionReassignments } from '../protocol/apis/alter-partition-reassignments.ts'
import type { alterUserScramCredentials } from '../protocol/apis/alter-user-scram-credentials.ts'
import type { createPartitions } from '../protocol/apis/create-partitions.ts'
import type { createTopics } from '../protocol/apis/create-topics.ts'
import type { deleteTopics } from '../protocol/apis/delete-topics.ts'
import type { electLeaders } from '../protocol/apis/elect-leaders.ts'
import type { incrementalAlterConfigs } from '../protocol/apis/incremental-alter-configs.ts'
import type { updateFeatures } from '../protocol/apis/update-features.ts'
import type { Api, Decoded, Encodable, Fields, Struct } from '../protocol/dsl.ts'
import type { ErrorName } from '../protocol/errors.ts'
import type { Later } from '../util/later.ts'
import type { AppliedRecord } from './metadata/records.ts'

/**
 * What a broker and the controller say to each other. All of it goes over a {@link Link}, which may be slow or cut: a broker
 * knows what it was told, never the truth. Admin requests travel in the form in which clients send them, as in Kafka.
 */
export interface ControllerMessages {
  registerBroker: {
    request: { brokerId: number; host: string; port: number; rack: string | null }
    reply: { brokerEpoch: number }
  }
  createTopics: Forwarded<typeof createTopics>
  deleteTopics: Forwarded<typeof deleteTopics>
  createPartitions: Forwarded<typeof createPartitions>
  alterConfigs: Forwarded<typeof alterConfigs>
  incrementalAlterConfigs: Forwarded<typeof incrementalAlterConfigs>
  alterClientQuotas: Forwarded<typeof alterClientQuotas>
  alterUserScramCredentials: Forwarded<typeof alterUserScramCredentials>
  alterPartitionReassignments: Forwarded<typeof alterPartitionReassignments>
  electLeaders: Forwarded<typeof electLeaders>
  updateFeatures: Forwarded<typeof updateFeatures>
  allocateProducerIds: {
    request: { brokerId: number; brokerEpoch: number }
    reply: { error: ErrorName; start: number; length: number }
  }
  /** Of no client: what tests and a replaced cluster ask for. */
  raiseLeaderEpochs: {
    /** A topic, or null for all; a partition of it, or −1 for all; the least epoch that they get. */
    request: { topic: string | null; partition: number; atLeast: number }
    reply: Record<never, never>
  }
}

/** A request of a client, passed on as it was decoded. */
type Forwarded<A> =
  A extends Api<infer Request extends Fields, infer Response extends Fields>
    ? {
        request: { request: Decoded<Struct<Request>>; apiVersion: number; brokerId: number }
        reply: Encodable<Struct<Response>>
      }
    : never

export type ControllerMessageKind = keyof ControllerMessages

/** The broker's end of the link to the controller. */
export interface Link {
  send<Kind extends ControllerMessageKind>(
    kind: Kind,
    request: ControllerMessages[Kind]['request'],
  ): Later<ControllerMessages[Kind]['reply']>
}

/** The controller's end: records that were committed, in order, each exactly once per registration. */
export interface MetadataListener {
  metadata(update: MetadataUpdate): void
}

export interface MetadataUpdate {
  /** The offset behind the last record. */
  readonly endOffset: number
  readonly records: readonly AppliedRecord[]
}
