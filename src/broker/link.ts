import type { alterClientQuotas } from '../protocol/apis/alter-client-quotas.ts'
import type { alterConfigs } from '../protocol/apis/alter-configs.ts'
import type { alterPartitionReassignments } from '../protocol/apis/alter-partition-reassignments.ts'
import type { alterUserScramCredentials } from '../protocol/apis/alter-user-scram-credentials.ts'
import type { createPartitions } from '../protocol/apis/create-partitions.ts'
import type { createTopics } from '../protocol/apis/create-topics.ts'
import type { deleteTopics } from '../protocol/apis/delete-topics.ts'
import type { describeQuorum } from '../protocol/apis/describe-quorum.ts'
import type { electLeaders } from '../protocol/apis/elect-leaders.ts'
import type { incrementalAlterConfigs } from '../protocol/apis/incremental-alter-configs.ts'
import type { listPartitionReassignments } from '../protocol/apis/list-partition-reassignments.ts'
import type { unregisterBroker } from '../protocol/apis/unregister-broker.ts'
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
    request: BrokerRegistration
    reply: { error: ErrorName; brokerEpoch: number }
  }
  brokerHeartbeat: {
    request: {
      brokerId: number
      brokerEpoch: number
      /** The offset behind the last metadata record that reached the broker. */
      metadataOffset: number
      wantShutDown: boolean
    }
    reply: { error: ErrorName; isFenced: boolean; shouldShutDown: boolean }
  }
  alterPartition: {
    request: { brokerId: number; brokerEpoch: number; partitions: readonly IsrProposal[] }
    reply: { error: ErrorName; partitions: readonly IsrAnswer[] }
  }
  /** Replicas of the broker are offline, because their logs failed. */
  failReplicas: {
    request: {
      brokerId: number
      brokerEpoch: number
      partitions: readonly { readonly topicId: string; readonly partitionId: number }[]
    }
    reply: { error: ErrorName }
  }
  createTopics: Forwarded<typeof createTopics>
  deleteTopics: Forwarded<typeof deleteTopics>
  createPartitions: Forwarded<typeof createPartitions>
  alterConfigs: Forwarded<typeof alterConfigs>
  incrementalAlterConfigs: Forwarded<typeof incrementalAlterConfigs>
  alterClientQuotas: Forwarded<typeof alterClientQuotas>
  alterUserScramCredentials: Forwarded<typeof alterUserScramCredentials>
  alterPartitionReassignments: Forwarded<typeof alterPartitionReassignments>
  listPartitionReassignments: Forwarded<typeof listPartitionReassignments>
  electLeaders: Forwarded<typeof electLeaders>
  describeQuorum: Forwarded<typeof describeQuorum>
  updateFeatures: Forwarded<typeof updateFeatures>
  unregisterBroker: Forwarded<typeof unregisterBroker>
  allocateProducerIds: {
    request: { brokerId: number; brokerEpoch: number }
    reply: { error: ErrorName; start: number; length: number }
  }
  /** Of no broker: the controller's own clock says that nothing was heard of a broker for too long. */
  fenceBroker: { request: { brokerId: number }; reply: Record<never, never> }
  /** The controller's own upkeep: leaders back to the first replicas, and unclean elections where they are allowed. */
  tidy: { request: { balance: boolean }; reply: Record<never, never> }
  /** Of no client: what tests and a replaced cluster ask for. */
  raiseLeaderEpochs: {
    /** A topic, or null for all; a partition of it, or −1 for all; the least epoch that they get; whether others are to lead that are in sync. */
    request: { topic: string | null; partition: number; atLeast: number; elsewhere?: boolean }
    reply: Record<never, never>
  }
}

/** A broker that comes up says who it is. */
interface BrokerRegistration {
  readonly brokerId: number
  readonly host: string
  readonly port: number
  readonly rack: string | null
  /** The same for as long as the process lives. */
  readonly incarnationId: string
  /**
   * The epoch under which its logs were closed in good order, or −1: then what it had not flushed may be gone. `same` says that they
   * are whole, whatever the epoch, as they are where the whole cluster was put back to an earlier moment: it was never away then.
   */
  readonly previousBrokerEpoch: PreviousBrokerEpoch
  /** False where no message can be lost, so that silence means nothing: a cluster of one. */
  readonly sendsHeartbeats: boolean
}

export type PreviousBrokerEpoch = number | 'same'

/** The in-sync replicas that a leader asks for (AlterPartition, KIP-497). */
export interface IsrProposal {
  readonly topicId: string
  readonly partitionId: number
  readonly leaderEpoch: number
  readonly partitionEpoch: number
  /** With the epoch under which each last fetched, so that none comes back in that was restarted meanwhile (KIP-903). */
  readonly isr: readonly { readonly brokerId: number; readonly brokerEpoch: number }[]
  readonly leaderRecoveryState: number
}

/** What became of one proposal; how the partition is now, where it is known. */
export interface IsrAnswer {
  readonly topicId: string
  readonly partitionId: number
  readonly error: ErrorName
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

/** What brokers say to each other. */
export interface PeerMessages {
  /** A follower fetches from a leader: the answer waits until there is something (Fetch with a replica id). */
  fetch: { request: ReplicaFetchRequest; reply: ReplicaFetchReply }
}

export interface ReplicaFetchRequest {
  readonly replicaId: number
  /** Counts the fetches of a follower, so that one that arrives twice is known. */
  readonly number: number
  readonly brokerEpoch: number
  readonly maxWaitMs: number
  readonly minBytes: number
  readonly maxBytes: number
  /** The number of the fetch that this one continues, 0 for none: what that asked for and is not named here is asked for again (KIP-227). */
  readonly continues: number
  /** What is new, or asked for in another way. */
  readonly partitions: readonly ReplicaFetchTarget[]
  /** The keys of partitions that are not asked for any more. */
  readonly forgotten: readonly string[]
}

export interface ReplicaFetchTarget {
  readonly topicId: string
  readonly partitionId: number
  /** The leader epoch that the follower believes in. */
  readonly currentLeaderEpoch: number
  readonly fetchOffset: number
  /** The epoch of the last record that the follower has, or −1. */
  readonly lastFetchedEpoch: number
  /** Where the follower's log starts. */
  readonly logStartOffset: number
  /** What the follower knows of the high watermark (KIP-1166). */
  readonly highWatermark: number
  readonly maxBytes: number
}

export interface ReplicaFetchReply {
  /** True when the leader does not know the fetch that was to be continued: the next has to name all. */
  readonly isUnknown?: boolean
  /** Those of which there is something to tell. */
  readonly partitions: readonly ReplicaFetchData[]
}

export interface ReplicaFetchData {
  readonly topicId: string
  readonly partitionId: number
  readonly error: ErrorName
  readonly highWatermark: number
  readonly logStartOffset: number
  readonly logEndOffset: number
  /** Where the follower's log left the leader's: it has to be cut (KIP-595). */
  readonly divergingEpoch?: { readonly epoch: number; readonly endOffset: number }
  /** Whole batches, as views that stay valid. */
  readonly records: readonly Uint8Array[]
}

export type PeerMessageKind = keyof PeerMessages

/** A broker's end of its links. What settles with undefined was not answered: whether it was received is not known. */
export interface Link {
  /** To the controller. */
  send<Kind extends ControllerMessageKind>(
    kind: Kind,
    request: ControllerMessages[Kind]['request'],
    timeoutMs?: number,
  ): Later<ControllerMessages[Kind]['reply'] | undefined>
  /** To another broker. */
  sendToPeer<Kind extends PeerMessageKind>(
    brokerId: number,
    kind: Kind,
    request: PeerMessages[Kind]['request'],
    timeoutMs: number,
  ): Later<PeerMessages[Kind]['reply'] | undefined>
  /** False where no message can be lost: a cluster of one. */
  readonly mayFail: boolean
}

/** A broker as those who send it messages see it. */
export interface LinkedBroker {
  /**
   * Records that were committed, in order. What it knows already is passed over, so each counts once; behind a gap
   * nothing is taken. Returns the offset behind the last record that it knows.
   */
  metadata(update: MetadataUpdate): number
  /** Another broker has a message. */
  receive<Kind extends PeerMessageKind>(
    kind: Kind,
    request: PeerMessages[Kind]['request'],
  ): Later<PeerMessages[Kind]['reply']>
}

export interface MetadataUpdate {
  /** What everything before `startOffset` adds up to, for a broker that lacks some of it. */
  readonly snapshot?: readonly AppliedRecord[]
  /** The offset of the first of the records, and the one behind the last. */
  readonly startOffset: number
  readonly endOffset: number
  readonly records: readonly AppliedRecord[]
}
