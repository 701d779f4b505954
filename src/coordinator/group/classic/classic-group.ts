import { javaMapOrder } from '../../../core/java-hash.ts'
import { CONSUMER_PROTOCOL_TYPE } from '../../../protocol/embedded/consumer-protocol.ts'
import type { ErrorName } from '../../../protocol/errors.ts'
import { assert } from '../../../util/assert.ts'
import type { ClassicMember, GroupProtocol } from './classic-member.ts'
import { type ClassicGroupState, PREVIOUS_STATES } from './states.ts'
import { subscribedTopicsOf } from './subscribed-topics.ts'

/**
 * A classic group as it lives in memory: members, leader, generation, state. It keeps its own order and knows no
 * timers, no records and no requests. It is soft state ahead of the log: what survives is the group's last
 * record, written when an assignment arrives, when the group becomes empty, and when a static member is replaced.
 * Follows `ClassicGroup`.
 */
export class ClassicGroup {
  readonly groupId: string
  #state: ClassicGroupState = 'Empty'
  /** The state before this one; tells a first rebalance from later ones. */
  previousState: ClassicGroupState | undefined
  /** When the state was entered, or undefined for a group whose record does not tell, or that never changed. */
  stateTimestamp: number | undefined
  generationId = 0
  /** Undefined until the first member joined; a group that only has offsets never has one. */
  protocolType: string | undefined
  /** The protocol that was voted for in this generation. */
  protocolName: string | undefined
  leaderId: string | undefined
  /** In the order in which they joined. */
  readonly members = new Map<string, ClassicMember>()
  /** Instance id to member id. */
  readonly staticMembers = new Map<string, string>()
  /** Ids that were given out (KIP-394) and did not join yet. */
  readonly pendingJoin = new Set<string>()
  /** Members of this generation whose SyncGroup has not come. */
  readonly pendingSync = new Set<string>()
  /** Somebody new joined since the initial delay was last extended. */
  newMemberAdded = false
  /** Topics of this generation; undefined when the group does not say, or not in a way that the broker reads. */
  subscribedTopics: ReadonlySet<string> | undefined

  constructor(groupId: string) {
    this.groupId = groupId
  }

  get state(): ClassicGroupState {
    return this.#state
  }

  isIn(...states: ClassicGroupState[]): boolean {
    return states.includes(this.#state)
  }

  transitionTo(state: ClassicGroupState, now: number): void {
    assert(PREVIOUS_STATES[state].includes(this.#state), `group ${this.groupId} went from ${this.#state} to ${state}`)
    this.previousState = this.#state
    this.#state = state
    this.stateTimestamp = now
  }

  /** As the log has it: members are assigned, or there are none. */
  restoreState(state: 'Empty' | 'Stable', stateTimestamp: number | undefined): void {
    this.#state = state
    this.stateTimestamp = stateTimestamp
  }

  get canRebalance(): boolean {
    return PREVIOUS_STATES.PreparingRebalance.includes(this.#state)
  }

  isLeader(memberId: string): boolean {
    return this.leaderId === memberId
  }

  get usesConsumerProtocol(): boolean {
    return this.protocolType === CONSUMER_PROTOCOL_TYPE
  }

  /** The longest that a member asks for. */
  get rebalanceTimeoutMs(): number {
    let longest = 0
    for (const member of this.members.values()) longest = Math.max(longest, member.rebalanceTimeoutMs)
    return longest
  }

  get awaitingJoinCount(): number {
    let count = 0
    for (const member of this.members.values()) if (member.awaitingJoin !== undefined) count++
    return count
  }

  /** Every member's join is parked, and no id that was given out is missing. */
  get hasAllMembersJoined(): boolean {
    return this.pendingJoin.size === 0 && this.awaitingJoinCount === this.members.size
  }

  /** A member that is there; asking for another is a mistake of ours. */
  member(memberId: string): ClassicMember {
    const member = this.members.get(memberId)
    assert(member !== undefined, `group ${this.groupId} has no member ${memberId}`)
    return member
  }

  /** What a request of this member is refused with: it is unknown, or its instance id belongs to another member id. */
  refusalOf(memberId: string, groupInstanceId: string | null): ErrorName | undefined {
    if (groupInstanceId !== null) {
      const holder = this.staticMembers.get(groupInstanceId)
      if (holder === undefined) return 'UNKNOWN_MEMBER_ID'
      if (holder !== memberId) return 'FENCED_INSTANCE_ID'
    }
    return this.members.has(memberId) ? undefined : 'UNKNOWN_MEMBER_ID'
  }

  /** Adds a member; the first one becomes the leader and says what type the group is of. */
  add(member: ClassicMember): void {
    if (this.members.size === 0) this.protocolType = member.protocolType
    if (member.groupInstanceId !== null) {
      assert(!this.staticMembers.has(member.groupInstanceId), `instance ${member.groupInstanceId} is there already`)
      this.staticMembers.set(member.groupInstanceId, member.memberId)
    }
    this.leaderId ??= member.memberId
    this.members.set(member.memberId, member)
    this.pendingJoin.delete(member.memberId)
  }

  /** Removes a member or a pending id, if it is there. A leader is followed by the member that joined first. */
  remove(memberId: string): void {
    const member = this.members.get(memberId)
    if (member !== undefined) {
      this.members.delete(memberId)
      if (member.groupInstanceId !== null) this.staticMembers.delete(member.groupInstanceId)
    }
    if (this.isLeader(memberId)) this.leaderId = this.members.keys().next().value
    this.pendingJoin.delete(memberId)
    this.pendingSync.delete(memberId)
  }

  /** Puts `replacement` in the place of the static member `memberId`; both have the same instance id. */
  replace(memberId: string, replacement: ClassicMember): void {
    this.member(memberId)
    this.members.delete(memberId)
    this.members.set(replacement.memberId, replacement)
    this.staticMembers.set(replacement.groupInstanceId as string, replacement.memberId)
    if (this.isLeader(memberId)) this.leaderId = replacement.memberId
  }

  /** Makes sure that the leader is somebody who joined; false when nobody did. */
  electJoinedLeader(): boolean {
    if (this.leaderId === undefined) return false
    if (this.member(this.leaderId).awaitingJoin !== undefined) return true
    for (const member of this.members.values()) {
      if (member.awaitingJoin === undefined) continue
      this.leaderId = member.memberId
      return true
    }
    return false
  }

  /** Whether somebody of that type, who knows these protocols, fits to the members there are. */
  supportsProtocols(protocolType: string, protocols: readonly GroupProtocol[]): boolean {
    if (this.isIn('Empty')) return protocolType !== '' && protocols.length > 0
    return (
      protocolType === this.protocolType &&
      protocols.some(({ name }) => [...this.members.values()].every(member => member.supports(name)))
    )
  }

  /**
   * The protocol with most votes: each member votes for the first of its own that all know. Of several with the same votes it
   * is the first in the order of Java's hash map, where Kafka counts them.
   */
  selectProtocol(): string {
    const members = [...this.members.values()]
    assert(members.length > 0, `group ${this.groupId} has nobody to vote`)
    const known = members[0].protocols.map(protocol => protocol.name)
    const candidates = new Set(known.filter(name => members.every(member => member.supports(name))))
    const votes = new Map<string, number>()
    for (const member of members) {
      const name = member.vote(candidates)
      votes.set(name, (votes.get(name) ?? 0) + 1)
    }
    const count = (name: string) => votes.get(name) as number
    return javaMapOrder([...votes.keys()]).reduce((best, next) => (count(next) > count(best) ? next : best))
  }

  /** The next generation begins: with the protocol that was voted for, or, with no members, as an empty group. */
  beginGeneration(now: number): void {
    this.generationId++
    this.protocolName = this.members.size > 0 ? this.selectProtocol() : undefined
    this.subscribedTopics = subscribedTopicsOf(this)
    this.pendingSync.clear()
    this.transitionTo(this.members.size > 0 ? 'CompletingRebalance' : 'Empty', now)
  }

  /**
   * Whether the group is using a topic, so that its offsets must stay. A consumer group whose subscriptions are not
   * known is taken to use every topic.
   */
  isSubscribedTo(topic: string): boolean {
    return this.subscribedTopics === undefined ? this.usesConsumerProtocol : this.subscribedTopics.has(topic)
  }
}
