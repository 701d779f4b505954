/**
 * What can be asked of a broker in plain data, wherever it runs: in this thread, in a worker, behind HTTP. The objects that
 * people hold (running-broker.ts) are made of these calls, and only these cross a border.
 */
import type { BrokerDescription } from '../broker/describe.ts'
import type { FaultRule } from '../broker/faults/fault-rule.ts'
import type { NamedFault } from '../broker/faults/named-faults.ts'
import type { GroupView } from '../broker/group-view.ts'
import type { RequestFilter, RequestLogRecord } from '../broker/request-log.ts'
import type { TopicRecord, TopicRecordInput } from '../broker/topic-access.ts'
import type { TopicDeclaration } from '../cluster/index.ts'

export type FaultId = number

/** Arguments and results can be cloned. */
export interface BrokerMethods {
  describe(): Promise<BrokerDescription>
  requests(filter?: RequestFilter): Promise<RequestLogRecord[]>
  trace(filter?: RequestFilter): Promise<string>
  now(): Promise<number>
  advance(time: number | string, options?: AdvanceOptions): Promise<void>
  reset(): Promise<void>
  snapshot(): Promise<BrokerSnapshot>
  restore(snapshot: BrokerSnapshot): Promise<void>
  addFault(rule: FaultRule): Promise<FaultId>
  addNamedFault(fault: NamedFault): Promise<FaultId>
  endFault(id: FaultId): Promise<void>
  faultCount(id: FaultId): Promise<number>
  metBy(id: FaultId, count: number, timeoutMs: number): Promise<void>
  heldBy(id: FaultId): Promise<number>
  arrivedAt(id: FaultId, count: number, timeoutMs: number): Promise<void>
  releaseFrom(id: FaultId, count?: number): Promise<number>
  createTopic(topic: TopicDeclaration): Promise<void>
  /** Everything in a topic, once there are `count` records; at once without a count. */
  recordsOf(topic: string, options: { count?: number; timeoutMs: number }): Promise<TopicRecord[]>
  produceTo(topic: string, records: readonly TopicRecordInput[]): Promise<{ partition: number; offset: number }[]>
  clearTopic(topic: string): Promise<void>
  viewGroup(groupId: string): Promise<GroupView>
  /** The group once it is as `goal` says. */
  awaitGroup(groupId: string, goal: GroupGoal, timeoutMs: number): Promise<GroupView>
  /** Takes members out of a group, or out of all. Resolves with how many there were. */
  evictMembers(groupId?: string): Promise<number>
}

/** What there is to topics and groups, of one broker or of several. */
export type TopicMethods = Pick<
  BrokerMethods,
  | 'createTopic'
  | 'recordsOf'
  | 'produceTo'
  | 'clearTopic'
  | 'viewGroup'
  | 'awaitGroup'
  | 'evictMembers'
  | 'requests'
  | 'trace'
>

/** What there is to faults on demand, of one broker or of several. */
export type FaultMethods = Pick<
  BrokerMethods,
  'addFault' | 'addNamedFault' | 'endFault' | 'faultCount' | 'metBy' | 'heldBy' | 'arrivedAt' | 'releaseFrom'
>

/** Stands for a state that the broker keeps; it can be sent to wherever the broker is driven from. */
export interface BrokerSnapshot {
  readonly clusterId: string
  readonly id: number
}

/** What a group is waited for to be. */
export interface GroupGoal {
  /** Every member has its assignment; without `members` there is one at least. */
  readonly stable?: boolean
  /** A rebalance is under way: members join, or wait for their assignment. */
  readonly rebalancing?: boolean
  readonly members?: number
  /** Lag of no more than this, over `topic` or all its topics. */
  readonly lag?: number
  readonly topic?: string
}

/** What else moves with the time. */
export interface AdvanceOptions {
  /**
   * True moves what waits for clients, too: sessions of members end, however alive their clients are, and so do joins
   * that wait, idle connections and waiting fetches. False by default.
   */
  sessions?: boolean
}

export type BrokerMethod = keyof BrokerMethods

/** Every method; a record, so that none can be forgotten. */
const NAMES: Record<BrokerMethod, true> = {
  describe: true,
  requests: true,
  now: true,
  advance: true,
  reset: true,
  snapshot: true,
  restore: true,
  trace: true,
  addFault: true,
  addNamedFault: true,
  endFault: true,
  faultCount: true,
  metBy: true,
  heldBy: true,
  arrivedAt: true,
  releaseFrom: true,
  createTopic: true,
  recordsOf: true,
  produceTo: true,
  clearTopic: true,
  viewGroup: true,
  awaitGroup: true,
  evictMembers: true,
}

/** The methods of a broker elsewhere, each made by `call`. */
export function methodsBy(call: (method: BrokerMethod, args: unknown[]) => Promise<unknown>): BrokerMethods {
  const entries = Object.keys(NAMES).map(name => [name, (...args: unknown[]) => call(name as BrokerMethod, args)])
  return Object.fromEntries(entries)
}

/** Calls one method by its name; what is none is refused. */
export async function callMethod(methods: BrokerMethods, method: string, args: unknown[]): Promise<unknown> {
  if (!Object.hasOwn(NAMES, method)) throw new TypeError(`a broker has no method ${method}`)
  return (methods[method as BrokerMethod] as (...args: unknown[]) => Promise<unknown>)(...args)
}
