import type { ClassicMember } from '../coordinator/group/classic/classic-member.ts'
import type { GroupMachine } from '../coordinator/group/group-machine.ts'
import { CONSUMER_PROTOCOL_TYPE, decodeAssignment } from '../protocol/embedded/consumer-protocol.ts'
import type { Broker } from './broker.ts'

/**
 * One group as a test wants to see it: who is in it with what, and how far behind it is. Unlike the lag of `describe.ts`, which is of
 * committed partitions alone, a partition of its topics without a commit counts as a whole.
 */

export interface GroupView {
  readonly groupId: string
  /** `Empty`, `PreparingRebalance`, `CompletingRebalance` or `Stable`; `Dead` when there is no such group. */
  readonly state: string
  /** True when every member has its assignment. */
  readonly stable: boolean
  readonly generationId: number
  readonly members: readonly MemberView[]
  readonly partitions: readonly PartitionLag[]
  /** The sum over the partitions. */
  readonly lag: number
}

export interface MemberView {
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly clientId: string
  /** What it was assigned, where the group is one of consumers. */
  readonly assignment: readonly { readonly topic: string; readonly partitions: readonly number[] }[]
}

export interface PartitionLag {
  readonly topic: string
  readonly partition: number
  /** −1 when nothing is committed. */
  readonly committed: number
  /** Records behind the committed offset, or all when nothing is committed. */
  readonly lag: number
}

/** A group without what only the leaders of its partitions know. */
export interface CoordinatedGroup extends Omit<GroupView, 'partitions' | 'lag'> {
  /** Of the topics that it has committed to or is subscribed to, all partitions. */
  readonly partitions: readonly {
    readonly topicId: string
    readonly topic: string
    readonly partition: number
    readonly committed: number
  }[]
}

/** From where to where a partition can be read, as its leader has it. */
export interface ReadableOffsets {
  readonly logStartOffset: number
  readonly highWatermark: number
}

/** The group as a broker has it that coordinates it and leads all that it reads: where there is but one. */
export function viewGroup(broker: Broker, groupId: string): GroupView {
  const group = coordinatedGroup(broker, groupId)
  const { replicas } = broker
  const offsets = group.partitions.map(({ topicId, partition }) => {
    return replicas.existingLog(replicas.find(topicId, partition)) ?? { logStartOffset: 0, highWatermark: 0 }
  })
  return withLag(group, offsets)
}

/** The group as its coordinator has it. */
export function coordinatedGroup(broker: Broker, groupId: string): CoordinatedGroup {
  const machine = broker.groups.machine(broker.groups.partitionFor(groupId))
  const group = machine?.context.groups.get(groupId)
  if (machine === undefined || group === undefined) return deadGroup(groupId)
  return {
    groupId,
    state: group.state,
    stable: group.isIn('Stable') && group.pendingSync.size === 0,
    generationId: group.generationId,
    members: [...group.members.values()].map(viewMember),
    partitions: partitionsOf(broker, machine, groupId, group.subscribedTopics),
  }
}

/** One that is not there. */
export function deadGroup(groupId: string): CoordinatedGroup {
  return { groupId, state: 'Dead', stable: false, generationId: 0, members: [], partitions: [] }
}

/** How far the group is behind, given the offsets of its partitions, in their order. */
export function withLag(group: CoordinatedGroup, offsets: readonly ReadableOffsets[]): GroupView {
  const partitions = group.partitions.map(({ topic, partition, committed }, index) => {
    const { highWatermark, logStartOffset } = offsets[index]
    return { topic, partition, committed, lag: Math.max(0, highWatermark - Math.max(committed, logStartOffset)) }
  })
  return { ...group, partitions, lag: partitions.reduce((sum, { lag }) => sum + lag, 0) }
}

function viewMember(member: ClassicMember): MemberView {
  const { memberId, groupInstanceId, clientId } = member
  return { memberId, groupInstanceId, clientId, assignment: assignmentOf(member) }
}

function assignmentOf({ protocolType, assignment }: ClassicMember): MemberView['assignment'] {
  if (protocolType !== CONSUMER_PROTOCOL_TYPE) return []
  try {
    return decodeAssignment(assignment).assignedPartitions
  } catch {
    // What an assignor of somebody's own says is its own affair.
    return []
  }
}

/** The topics that the group has committed to or is subscribed to, with all their partitions. */
function partitionsOf(
  { image: { topicsByName } }: Broker,
  { offsets }: GroupMachine,
  groupId: string,
  subscribed: ReadonlySet<string> = new Set(),
): CoordinatedGroup['partitions'] {
  const committed = offsets.of(groupId)
  const topics = new Set([...[...committed].map(([topic]) => topic), ...subscribed])
  return [...topics].sort().flatMap(topic => {
    const { topicId = '', partitions = [] } = topicsByName.get(topic) ?? {}
    return partitions.map(({ partitionId: partition }) => {
      return { topicId, topic, partition, committed: committed.get(topic)?.get(partition)?.offset ?? -1 }
    })
  })
}
