/**
 * What members of a classic consumer group tell each other through the coordinator: subscriptions, and the assignment that
 * the leader makes of them. Follows ConsumerProtocol, and StickyAssignor and CooperativeStickyAssignor for their user data.
 */

import type { Assignor, AssignorMember } from '../core/assignors/assignor.ts'
import { decodeMessage, encodeMessage } from '../protocol/codec.ts'
import { array, int32, message, string, struct } from '../protocol/dsl.ts'
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from '../protocol/embedded/consumer-protocol.ts'
import { ByteError, ByteReader } from '../util/byte-reader.ts'
import { byTopic, type TopicPartition } from './topic-partition.ts'

/** The eager sticky assignor's own memory, since an eager member owns nothing when it joins. No version in front. */
const stickyUserData = message({
  name: 'StickyAssignorUserData',
  versions: [0, 1],
  flexible: undefined,
  body: struct({
    previousAssignment: array(struct({ topic: string(), partitions: array(int32()) })),
    generation: int32().since(1).default(-1).ignorable(),
  }),
})

/** Says the generation to members whose subscription has no place for it. */
const cooperativeUserData = message({
  name: 'CooperativeStickyAssignorUserData',
  versions: [0, 0],
  flexible: undefined,
  body: struct({ generation: int32() }),
})

export interface MemberState {
  readonly topics: readonly string[]
  /** What the member owns while it joins: nothing for an eager one. */
  readonly owned: readonly TopicPartition[]
  /** What it had before it joined. */
  readonly previous: readonly TopicPartition[]
  /** The generation in which it got that; −1 for none. */
  readonly generation: number
  readonly rackId: string | null
}

/** What a member says of itself for one assignor. */
export function encodeMember(assignor: Assignor, state: MemberState): Uint8Array {
  const { topics, owned, generation, rackId } = state
  const ownedPartitions = listTopics(owned)
  const userData = userDataFor(assignor, state)
  return encodeSubscription({ topics, userData, ownedPartitions, generationId: generation, rackId })
}

function userDataFor(assignor: Assignor, { previous, generation }: MemberState): Uint8Array | null {
  if (assignor.name === 'sticky' && previous.length > 0) {
    return encodeMessage(stickyUserData, 1, { previousAssignment: listTopics(previous), generation })
  }
  if (assignor.name === 'cooperative-sticky') return encodeMessage(cooperativeUserData, 0, { generation })
  return null
}

export interface JoinedMember {
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly metadata: Uint8Array
}

/** What the leader reads of a member. @throws ByteError when the subscription cannot be read */
export function decodeMember(assignor: Assignor, joined: JoinedMember): AssignorMember {
  const { memberId, groupInstanceId, metadata } = joined
  const { topics, ownedPartitions, generationId, rackId, userData } = decodeSubscription(metadata)
  const member = { memberId, groupInstanceId, topics, rackId }
  if (assignor.name === 'sticky') return { ...member, ...readSticky(userData) }
  const told = generationId >= 0 ? generationId : readCooperative(userData)
  return { ...member, ownedPartitions: listPartitions(ownedPartitions), generation: told }
}

/** User data that cannot be read counts as none, as in Kafka: it only helps. */
function readSticky(userData: Uint8Array | null): Pick<AssignorMember, 'ownedPartitions' | 'generation'> {
  if (userData === null || userData.length === 0) return {}
  for (const version of [1, 0]) {
    try {
      const { previousAssignment, generation } = decodeMessage(stickyUserData, version, new ByteReader(userData))
      return { ownedPartitions: listPartitions(previousAssignment), generation }
    } catch (error) {
      if (!(error instanceof ByteError)) throw error
    }
  }
  return {}
}

function readCooperative(userData: Uint8Array | null): number {
  if (userData === null || userData.length < 4) return -1
  return decodeMessage(cooperativeUserData, 0, new ByteReader(userData)).generation
}

/** The leader's work: member id → its assignment as bytes. @throws ByteError when a subscription cannot be read */
export function assignMembers(
  assignor: Assignor,
  members: readonly AssignorMember[],
  partitions: ReadonlyMap<string, number>,
  racks: ReadonlyMap<string, readonly (readonly string[])[]>,
): { memberId: string; assignment: Uint8Array }[] {
  const assignment = assignor.assign({ members, partitions, racks })
  return [...assignment].map(([memberId, owned]) => ({
    memberId,
    assignment: encodeAssignment({ assignedPartitions: listTopics(owned) }),
  }))
}

/** What a member is told to read. @throws ByteError */
export function readAssignment(bytes: Uint8Array): TopicPartition[] {
  return listPartitions(decodeAssignment(bytes).assignedPartitions)
}

function listTopics(partitions: readonly TopicPartition[]): { topic: string; partitions: number[] }[] {
  return [...byTopic(partitions)].map(([topic, numbers]) => ({ topic, partitions: numbers }))
}

function listPartitions(topics: readonly { topic: string; partitions: readonly number[] }[]): TopicPartition[] {
  return topics.flatMap(({ topic, partitions }) => partitions.map(partition => ({ topic, partition })))
}
