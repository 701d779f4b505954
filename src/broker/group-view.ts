import type { ClassicMember } from '../coordinator/group/classic/classic-member.ts'
import type { GroupMachine } from '../coordinator/group/group-machine.ts'
import { CONSUMER_PROTOCOL_TYPE, decodeAssignment } from '../protocol/embedded/consumer-protocol.ts'
import type { Broker } from './broker.ts'
import type { Leaders } from './topic-access.ts'

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

/**
 * The group as its coordinator has it; how far it is behind, as the leaders of the partitions have it: the same broker where there is but one.
 */
export function viewGroup(broker: Broker, groupId: string, leaderOf: Leaders['leaderOf'] = () => broker): GroupView {
  const machine = broker.groups.machine(broker.groups.partitionFor(groupId))
  const group = machine?.context.groups.get(groupId)
  if (machine === undefined || group === undefined) {
    return { groupId, state: 'Dead', stable: false, generationId: 0, members: [], partitions: [], lag: 0 }
  }
  const members = [...group.members.values()]
  const partitions = lagOf({ image: broker.image, leaderOf }, machine, groupId, group.subscribedTopics)
  return {
    groupId,
    state: group.state,
    stable: group.isIn('Stable') && group.pendingSync.size === 0,
    generationId: group.generationId,
    members: members.map(viewMember),
    partitions,
    lag: partitions.reduce((sum, { lag }) => sum + lag, 0),
  }
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
function lagOf(
  { image: { topicsByName }, leaderOf }: Leaders,
  { offsets }: GroupMachine,
  groupId: string,
  subscribed: ReadonlySet<string> = new Set(),
): PartitionLag[] {
  const committed = offsets.of(groupId)
  const topics = new Set([...[...committed].map(([topic]) => topic), ...subscribed])
  return [...topics].sort().flatMap(topic => {
    const { topicId = '', partitions = [] } = topicsByName.get(topic) ?? {}
    return partitions.map(({ partitionId: partition }) => {
      const { replicas } = leaderOf(topicId, partition)
      const log = replicas.existingLog(replicas.find(topicId, partition))
      const offset = committed.get(topic)?.get(partition)?.offset ?? -1
      const lag = (log?.highWatermark ?? 0) - Math.max(offset, log?.logStartOffset ?? 0)
      return { topic, partition, committed: offset, lag: Math.max(0, lag) }
    })
  })
}
