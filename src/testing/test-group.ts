/**
 * A consumer group in a test: waiting until it is stable or has read everything, and looking at who is in it.
 */
import type { GroupView, MemberView } from '../broker/group-view.ts'
import type { TopicMethods } from '../node/broker-methods.ts'
import { WAIT_TIMEOUT_MS } from '../node/fault-handles.ts'
import type { Told } from './told.ts'

export class TestGroup {
  readonly groupId: string
  readonly #methods: () => TopicMethods
  readonly #told: Told

  /** @internal */
  constructor(groupId: string, methods: () => TopicMethods, told: Told) {
    this.groupId = groupId
    this.#methods = methods
    this.#told = told
  }

  /**
   * Resolves when every member has its assignment, and there are `members` of them; one at least without a number.
   *
   * @throws OttlaError `OTTLA_TIMEOUT` after `timeoutMs`, 10 seconds by default, with who is in the group instead.
   */
  async stable(options: { members?: number; timeoutMs?: number } = {}): Promise<GroupView> {
    const { members, timeoutMs = WAIT_TIMEOUT_MS } = options
    return this.#told(this.#methods().awaitGroup(this.groupId, { stable: true, members }, timeoutMs))
  }

  /**
   * Resolves when a rebalance has begun and is not over: members join, or wait for their assignment. At once when that is so.
   *
   * @example
   * // Whatever the first consumer is at, it is no longer alone.
   * void second.run()
   * await broker.group('billing').rebalancing()
   */
  async rebalancing(options: { timeoutMs?: number } = {}): Promise<GroupView> {
    const { timeoutMs = WAIT_TIMEOUT_MS } = options
    return this.#told(this.#methods().awaitGroup(this.groupId, { rebalancing: true }, timeoutMs))
  }

  /** Resolves when nothing is left to read: the lag of `topic`, or of all topics of the group, is 0. */
  async drained(options: { topic?: string; timeoutMs?: number } = {}): Promise<GroupView> {
    const { topic, timeoutMs = WAIT_TIMEOUT_MS } = options
    return this.#told(this.#methods().awaitGroup(this.groupId, { lag: 0, topic }, timeoutMs))
  }

  /** Resolves when there are no members any more. */
  async empty(options: { timeoutMs?: number } = {}): Promise<GroupView> {
    const { timeoutMs = WAIT_TIMEOUT_MS } = options
    return this.#told(this.#methods().awaitGroup(this.groupId, { members: 0 }, timeoutMs))
  }

  /**
   * How many records are behind what the group has committed, over all its topics or in one. A partition without a commit counts
   * with all it has.
   */
  async lag(options: { topic?: string } = {}): Promise<number> {
    const { partitions } = await this.view()
    const { topic } = options
    return partitions.filter(each => topic === undefined || each.topic === topic).reduce((sum, { lag }) => sum + lag, 0)
  }

  /** Who is in it, and what they were assigned. */
  async members(): Promise<readonly MemberView[]> {
    return (await this.view()).members
  }

  /** The group as it is now. */
  async view(): Promise<GroupView> {
    return this.#methods().viewGroup(this.groupId)
  }

  /** Takes all members out, as if they had said goodbye. Those that live join again. Resolves with how many there were. */
  async evict(): Promise<number> {
    return this.#methods().evictMembers(this.groupId)
  }
}
