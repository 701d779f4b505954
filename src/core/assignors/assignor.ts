// The one contract of all assignors: a pure function from members and topics to who reads which partition. An assignor knows no
// protocol: the client (for the classic protocol) or the coordinator (KIP-848) puts subscriptions in and sends the answer out.
// Follows ConsumerPartitionAssignor; the order of members is that of AbstractPartitionAssignor.MemberInfo.

export interface TopicPartition {
  topic: string
  partition: number
}

/** What a member told about itself when it joined. */
export interface AssignorMember {
  memberId: string
  /** Set for a static member (KIP-345): range and roundrobin order by it, so that a restart changes nothing. */
  groupInstanceId?: string | null
  /** The topics it subscribed to; a topic that does not exist is no error, there is just nothing to assign. */
  topics: readonly string[]
  /** What it owned until now; only sticky assignors look. */
  ownedPartitions?: readonly TopicPartition[]
  /** The generation in which it got `ownedPartitions`; −1 or absent if it does not say. The newer claim on a partition wins. */
  generation?: number
  /** The rack the member lives in (KIP-881). */
  rackId?: string | null
}

export interface AssignorInput {
  members: readonly AssignorMember[]
  /** Topic → number of partitions. */
  partitions: ReadonlyMap<string, number>
  /** Topic → per partition the racks of its replicas. Without it, or when racks make no difference, racks are not looked at. */
  racks?: ReadonlyMap<string, readonly (readonly string[])[]>
}

/** Member id → its partitions, by topic and then by number. Every member has an entry, an idle one an empty list. */
export type Assignment = Map<string, TopicPartition[]>

export interface Assignor {
  /** The name members agree on in JoinGroup. */
  readonly name: string
  /** `eager`: members give up everything before they rejoin. `cooperative`: only what they must, in a second round. */
  readonly rebalanceProtocol: 'eager' | 'cooperative'
  /** Pure: changes nothing it is given, and the order of members and topics in the input does not matter. */
  assign(input: AssignorInput): Assignment
}

/** Plain string order by UTF-16 code units, which is also Java's. */
export function compareStrings(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function compareTopicPartitions(a: TopicPartition, b: TopicPartition): number {
  return compareStrings(a.topic, b.topic) || a.partition - b.partition
}

/** A partition as one string; unique, because the number after the last colon is the partition. */
export function keyOf({ topic, partition }: TopicPartition): string {
  return `${topic}:${partition}`
}

/** Static members first, by group instance id; then the dynamic ones by member id. */
export function inStaticOrder(members: readonly AssignorMember[]): AssignorMember[] {
  return [...members].sort((a, b) => {
    if (a.groupInstanceId != null && b.groupInstanceId != null) {
      return compareStrings(a.groupInstanceId, b.groupInstanceId)
    }
    if (a.groupInstanceId != null) return -1
    if (b.groupInstanceId != null) return 1
    return compareStrings(a.memberId, b.memberId)
  })
}

export function inMemberIdOrder(members: readonly AssignorMember[]): AssignorMember[] {
  return [...members].sort((a, b) => compareStrings(a.memberId, b.memberId))
}

/** The topics that have partitions and at least one subscriber, in plain string order. */
export function assignableTopics(input: AssignorInput): string[] {
  const subscribed = new Set(input.members.flatMap(member => member.topics))
  return [...subscribed].filter(topic => (input.partitions.get(topic) ?? 0) > 0).sort(compareStrings)
}

/** An assignment in which every member is idle. */
export function idle(members: readonly AssignorMember[]): Assignment {
  return new Map(members.map(member => [member.memberId, []]))
}

/** Puts each member's list in order. */
export function sorted(assignment: Assignment): Assignment {
  for (const owned of assignment.values()) owned.sort(compareTopicPartitions)
  return assignment
}
