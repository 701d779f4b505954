/**
 * What one broker of a cluster can be asked and told in plain data, whichever thread it runs in: as broker-methods.ts for a broker that is
 * alone, with the difference that a broker among others answers for what it leads and coordinates, and refuses the rest as it
 * would refuse clients. Whoever puts the answers together is cluster-methods.ts.
 */
import type { BrokerCounts } from '../broker/counters.ts'
import type { FaultRule } from '../broker/faults/fault-rule.ts'
import type { TallyCells } from '../broker/faults/tally.ts'
import type { CoordinatedGroup, ReadableOffsets } from '../broker/group-view.ts'
import type { TopicRecord, TopicRecordInput } from '../broker/topic-access.ts'
import type { BrokerMethods, FaultId } from './broker-methods.ts'

/** From where to where a leader lets a partition be read. */
export interface LedOffsets extends ReadableOffsets {
  /** A leader that is new may not know yet how much its followers have: then the high watermark may be higher. */
  readonly highWatermarkLags: boolean
}

/** What both kinds of brokers can do, in the same way. */
export type SharedMethods = Pick<BrokerMethods, 'describe' | 'requests' | 'evictMembers' | 'addNamedFault' | 'endFault'>

/**
 * Arguments and results can be cloned. Whoever does not lead what is asked for throws a `KafkaError`, NOT_LEADER_OR_FOLLOWER as a rule.
 */
export interface NodeMethods extends SharedMethods {
  /** Of partitions of one topic, in their order. */
  offsetsOf(topicId: string, partitions: readonly number[]): Promise<LedOffsets[]>
  /** Everything below the high watermarks, for each of the partitions. */
  readRecords(topicId: string, partitions: readonly number[]): Promise<TopicRecord[][]>
  /**
   * Appends records to one partition. Resolves with the offset of the first once all in-sync replicas have them, as with `acks=all`.
   *
   * @throws OttlaError `OTTLA_TIMEOUT` when the broker learns first that somebody else leads, or after `timeoutMs`
   */
  appendRecords(
    topicId: string,
    partition: number,
    records: readonly TopicRecordInput[],
    timeoutMs: number,
  ): Promise<number>
  clearRecords(topicId: string, partitions: readonly number[]): Promise<void>
  /** @throws KafkaError LEADER_NOT_AVAILABLE while the broker has not loaded the partition that keeps the group */
  coordinatedGroup(groupId: string): Promise<CoordinatedGroup>
  /** The partitions of `__consumer_offsets` whose groups are loaded here. */
  loadedCoordinators(): Promise<number[]>
  /** What it has done since it started. */
  counters(): Promise<BrokerCounts>
  /** @param tally where it counts, with all brokers that have the same fault */
  addFault(rule: FaultRule, tally: TallyCells): Promise<FaultId>
  /** The places of the requests that wait at a fault here, among all that ever waited at it. */
  heldBy(id: FaultId): Promise<number[]>
  /** Lets those go on whose place is not behind `last`, or all, which ends the fault here. Resolves with how many went. */
  releaseFrom(id: FaultId, last?: number): Promise<number>
  /**
   * Resolves once the thread has seen more than `since` events, with how many there were: so that whoever waits for something there knows when
   * to look again.
   */
  changed(since: number): Promise<number>
}

/** What is done to one broker of a cluster. */
export interface NodeControls {
  /** Accepts connections; resolves with the port, which is any that is free for 0. */
  listen(port: number): Promise<number>
  /** Tells the controller where it listens. Resolves once the cluster has let the broker in. */
  register(): Promise<void>
  kill(powerLoss: boolean): Promise<void>
  /** In good order: leadership moves away first. */
  stop(): Promise<void>
  /** Starts the broker again on what it left, on the same port. Resolves once the cluster has let it in. */
  start(): Promise<void>
  pause(): Promise<void>
  resume(): Promise<void>
  /** Keeps how the broker is, in memory, under a number. */
  snapshot(id: number): Promise<void>
  /** Ends the process as `kill` does, but goes on listening: the broker is put back at once, with `begin`. */
  halt(): Promise<void>
  /** Starts the broker on nothing, or on how it was at a snapshot; whether it ran or not. Resolves once the cluster has let it in. */
  begin(id?: number): Promise<void>
  /** The end, in good order; nothing may be called afterwards. */
  close(): Promise<void>
}

/** One broker of a cluster, in whichever thread it runs. */
export interface ClusterNode extends NodeControls {
  readonly methods: NodeMethods
}
