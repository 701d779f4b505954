/**
 * One round of joining: JoinGroup, the assignment if this member is the leader, SyncGroup; and LeaveGroup for the way out. It
 * decides nothing: what an error means is the business of group-member.ts.
 */

import type { Assignor, AssignorMember } from '../core/assignors/assignor.ts'
import { joinGroup } from '../protocol/apis/join-group.ts'
import { leaveGroup } from '../protocol/apis/leave-group.ts'
import { syncGroup } from '../protocol/apis/sync-group.ts'
import type { Decoded } from '../protocol/dsl.ts'
import { CONSUMER_PROTOCOL_TYPE } from '../protocol/embedded/consumer-protocol.ts'
import { ByteError } from '../util/byte-reader.ts'
import type { KafkaClient } from './client.ts'
import type { ResolvedMemberOptions } from './group-member.ts'
import { assignMembers, decodeMember, encodeMember, readAssignment } from './group-protocol.ts'
import { DONE, fail, failureOf, ok, type Result } from './result.ts'
import { type Task, until } from './task.ts'
import type { TopicPartition } from './topic-partition.ts'

/** Who the member is in its group; changed by joining. */
export interface GroupIdentity {
  readonly groupId: string
  readonly groupInstanceId: string | null
  readonly lane: string
  memberId: string
  generation: number
  /** The last assignment, which sticky assignors want to know of. */
  previous: readonly TopicPartition[]
}

export interface Joined {
  readonly partitions: readonly TopicPartition[]
  readonly isLeader: boolean
}

type JoinResponse = Decoded<typeof joinGroup.response>

export function* joinAndSync(
  client: KafkaClient,
  options: ResolvedMemberOptions,
  identity: GroupIdentity,
  topics: readonly string[],
  owned: readonly TopicPartition[],
): Task<Result<Joined>> {
  const joined = yield* join(client, options, identity, topics, owned)
  if (!joined.ok) return joined
  const { protocolName, leader, memberId, generationId, skipAssignment } = joined.value
  const assignor = options.assignors.find(each => each.name === protocolName)
  if (assignor === undefined) return fail('INCONSISTENT_GROUP_PROTOCOL', `the group chose ${protocolName}`)
  identity.memberId = memberId
  identity.generation = generationId
  const isLeader = leader === memberId
  let assignments: { memberId: string; assignment: Uint8Array }[] = []
  if (isLeader && !skipAssignment) {
    const made = yield* assign(client, assignor, joined.value)
    if (!made.ok) return made
    assignments = made.value
  }
  const synced = yield* sync(client, options, identity, assignor, assignments)
  if (!synced.ok) return synced
  identity.previous = synced.value
  return ok({ partitions: synced.value, isLeader })
}

/** A join is answered when all members have joined, so it may take as long as they may. */
function parkedMs({ rebalanceTimeoutMs }: ResolvedMemberOptions, client: KafkaClient): number {
  return Math.max(rebalanceTimeoutMs + 5000, client.options.requestTimeoutMs)
}

function* join(
  client: KafkaClient,
  options: ResolvedMemberOptions,
  identity: GroupIdentity,
  topics: readonly string[],
  owned: readonly TopicPartition[],
): Task<Result<JoinResponse>> {
  const { sessionTimeoutMs, rebalanceTimeoutMs, rackId = null } = options
  const { groupId, groupInstanceId, lane, previous, generation } = identity
  const state = { topics, owned, previous, generation, rackId }
  const body = () => ({
    groupId,
    sessionTimeoutMs,
    rebalanceTimeoutMs,
    memberId: identity.memberId,
    groupInstanceId,
    protocolType: CONSUMER_PROTOCOL_TYPE,
    protocols: options.assignors.map(each => ({ name: each.name, metadata: encodeMember(each, state) })),
  })
  const check = ({ errorCode, memberId }: JoinResponse) => {
    const failure = failureOf(errorCode)
    // The coordinator gives out the id first, and lets in who comes back with it (KIP-394).
    if (failure?.error.code === 'MEMBER_ID_REQUIRED') identity.memberId = memberId
    return failure
  }
  const timeoutMs = parkedMs(options, client)
  return yield* client.askCoordinator(groupId, joinGroup, body, check, { lane, timeoutMs })
}

/** The leader's part: everybody's subscription, and how many partitions there are. */
function* assign(
  client: KafkaClient,
  assignor: Assignor,
  { members }: JoinResponse,
): Task<Result<{ memberId: string; assignment: Uint8Array }[]>> {
  let decoded: AssignorMember[]
  try {
    decoded = members.map(member => decodeMember(assignor, member))
  } catch (error) {
    if (!(error instanceof ByteError)) throw error
    return fail('OTTLA_BAD_RESPONSE', `a member's subscription cannot be read: ${error.message}`)
  }
  const topics = [...new Set(decoded.flatMap(member => member.topics))]
  client.use(topics)
  // Topics that do not exist are no error, there is just nothing to assign; so this asks once and does not wait for them.
  const refreshed = yield* until(client.refresh())
  if (!refreshed.ok) return refreshed
  const counts = new Map<string, number>()
  const racks = new Map<string, string[][]>()
  for (const name of topics) {
    const partitions = client.metadata.topic(name)?.partitions ?? []
    if (partitions.length === 0) continue
    counts.set(name, partitions.length)
    const rackOf = (nodeId: number) => client.metadata.broker(nodeId)?.rack ?? []
    racks.set(
      name,
      partitions.map(each => each.replicas.flatMap(rackOf)),
    )
  }
  return ok(assignMembers(assignor, decoded, counts, racks))
}

function* sync(
  client: KafkaClient,
  options: ResolvedMemberOptions,
  identity: GroupIdentity,
  assignor: Assignor,
  assignments: { memberId: string; assignment: Uint8Array }[],
): Task<Result<TopicPartition[]>> {
  const { groupId, groupInstanceId, memberId, generation, lane } = identity
  const body = {
    groupId,
    generationId: generation,
    memberId,
    groupInstanceId,
    protocolType: CONSUMER_PROTOCOL_TYPE,
    protocolName: assignor.name,
    assignments,
  }
  const check = ({ errorCode }: Decoded<typeof syncGroup.response>) => failureOf(errorCode)
  const timeoutMs = parkedMs(options, client)
  const synced = yield* client.askCoordinator(groupId, syncGroup, body, check, { lane, timeoutMs })
  if (!synced.ok) return synced
  try {
    return ok(readAssignment(synced.value.assignment))
  } catch (error) {
    if (!(error instanceof ByteError)) throw error
    return fail('OTTLA_BAD_RESPONSE', `the assignment cannot be read: ${error.message}`)
  }
}

/** Says goodbye. Static members do not, and it is no matter if the coordinator does not hear it: the session ends anyway. */
export function* leave(client: KafkaClient, identity: GroupIdentity): Task<Result<void>> {
  const { groupId, groupInstanceId, memberId, lane } = identity
  if (memberId === '' || groupInstanceId !== null || client.closed) return DONE
  const body = (version: number) =>
    version >= 3 ? { groupId, members: [{ memberId, groupInstanceId }] } : { groupId, memberId }
  const check = ({ errorCode, members }: Decoded<typeof leaveGroup.response>) =>
    failureOf(errorCode) ?? failureOf(members[0]?.errorCode ?? 0)
  const reply = yield* client.askCoordinator(groupId, leaveGroup, body, check, { lane })
  return reply.ok ? DONE : reply
}
