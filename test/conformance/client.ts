/**
 * What the conformance run asks of a client, whatever its language: the few verbs that the steps are written in.
 *
 * Each verb runs the unmodified client in a process of its own (so that it can crash for real) under the client id of
 * the call, which is how its requests are found again in the broker's request log. A verb that a client's API does
 * not have throws; the steps that need it are named in `lacks`, and never get that far.
 */
import type { ExpectedRequests } from './request-log.ts'
import type { StepName } from './steps.ts'

export type Codec = 'gzip' | 'snappy' | 'lz4' | 'zstd'
export type ResetPolicy = 'earliest' | 'latest' | 'none'
export type Header = [key: string, value: string]

/** A record to send; without a partition the client's own partitioner decides. A null value is a tombstone. */
export interface OutgoingRecord {
  key: string
  value: string | null
  headers?: Header[]
}

/** A record as a client handed it to its user. */
export interface ConsumedRecord {
  partition: number
  offset: number
  key: string | null
  value: string | null
}

/** Whom one process of a client talks to, and as whom. */
export interface Call {
  bootstrapServers: string
  clientId: string
}

/** A member of a group: a running process of the client. */
export interface Member {
  clientId: string
  /** The partitions of every assignment that it was given, in order: the last one is what it owns now. */
  assignments: number[][]
  records: ConsumedRecord[]
  /** Why the process ended by itself; undefined while it runs. */
  failure(): string | undefined
  /** SIGKILL: no LeaveGroup, the broker only sees the connection close. */
  crash(): void
  /** Leaves the group as the client does it, and waits for the process to end. */
  close(): Promise<void>
}

export interface JoinOptions {
  group: string
  topic: string
  reset: ResetPolicy
  sessionTimeoutMs?: number
  /** The member is to outlast failovers that take longer than the client's default number of tries. */
  patient?: boolean
}

/** What became of a record that a producer sent by itself. */
export interface Acknowledgement {
  partition: number
  /** Undefined when the client does not tell. */
  offset?: number
  value: string
}

export interface KeepProducingOptions {
  topic: string
  /** How many partitions the topic has; each gets its share. */
  partitions: number
  recordsPerSecond: number
}

/**
 * An idempotent producer with acks=all and the client's own retries, which goes on until it is closed. It sends each partition the values
 * `partition:0`, `partition:1` and so on.
 */
export interface SteadyProducer {
  acknowledged: Acknowledgement[]
  /** Those of which the client said that it gave up: they may be stored or not. */
  unacknowledged: (Acknowledgement & { message: string })[]
  failure(): string | undefined
  /** Waits for all that is under way. */
  close(): Promise<void>
}

/** A producer that stays: it sends what it is given, when it is given. */
export interface OpenProducer {
  /** Sends a record with the key `k-value`; whether it arrived, the step sees in what is stored. */
  send(value: string): void
  failure(): string | undefined
  close(): Promise<void>
}

export interface ProduceOptions {
  codec?: Codec
  idempotent?: boolean
  /** How long the client may look for the topic before it gives up, where its API lets one say so. */
  giveUpAfterMs?: number
}

/** What a member of a group told, in the order in which it happened. */
export type MemberEvent =
  | { event: 'assigned'; partitions: number[] }
  | ({ event: 'record' } & ConsumedRecord)
  /** Where it means to go on in the partitions it has now, of clients that tell. */
  | { event: 'begins'; places: { partition: number; offset: number }[] }
  /** The consumer ended with an error, and the program made another one, which knows nothing of it. */
  | { event: 'anew' }

export interface TopicDescription {
  partitions: number
  leaders: number[]
}

export interface ConformanceClient {
  name: string
  /** The steps that this client's API has nothing for, each with the reason. */
  lacks: Partial<Record<StepName, string>>
  /** A remark below the table for a step that passes in an unusual way. */
  remarks?: Partial<Record<StepName, string>>
  /** True for a client that ends with an error when its topic is deleted, rather than wait for it to come back. */
  endsWithTopic?: boolean
  /** A known fault of the client that shows now and then, so that a step that failed is tried a second time. */
  knownFault?: string
  requests: ExpectedRequests
  /** Whether this machine has the client, and which. */
  probe(): Promise<{ version: string } | { missing: string }>

  produce(call: Call, topic: string, records: OutgoingRecord[], how: ProduceOptions): Promise<void>
  openProducer(call: Call, topic: string): OpenProducer
  /** Reads `count` records of one partition, from `offset` on. */
  readPartition(call: Call, topic: string, partition: number, offset: number, count: number): Promise<ConsumedRecord[]>
  /** Starts a member; returns at once. */
  join(call: Call, options: JoinOptions): Member
  /** Joins alone, takes `count` records, commits after the last of them and leaves. */
  consumeAndCommit(call: Call, group: string, topic: string, count: number): Promise<ConsumedRecord[]>
  committedOffset(call: Call, group: string, topic: string, partition: number): Promise<number>
  /** Commits an offset for a group that the client is no member of. */
  commitOffset(call: Call, group: string, topic: string, partition: number, offset: number): Promise<void>
  createTopic(call: Call, topic: string, partitions: number, configs: Record<string, string>): Promise<void>
  describeTopic(call: Call, topic: string): Promise<TopicDescription>
  deleteTopic(call: Call, topic: string): Promise<void>
}

/** What the programs of some clients do besides, for the run in which brokers fail. */
export interface FailoverVerbs {
  /** Why the client does not always begin at a commit: it may go on from where it has been itself. */
  goesOnFromItsOwn?: string
  /** Starts the producer; returns at once. */
  keepProducing(call: Call, options: KeepProducingOptions): SteadyProducer
  /** As `join`, and tells of records and assignments in the order in which they came. */
  joinAndTell(call: Call, options: JoinOptions, tell: (event: MemberEvent) => void): Member
}

export type FailoverClient = ConformanceClient & FailoverVerbs

/** Every member's session: three heartbeats may be late on a loaded machine, and a crash is still seen soon. */
export const SESSION_TIMEOUT_MS = 3000
export const HEARTBEAT_INTERVAL_MS = 300
