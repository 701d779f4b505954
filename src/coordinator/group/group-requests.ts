import type { deleteGroups } from '../../protocol/apis/delete-groups.ts'
import type { describeGroups } from '../../protocol/apis/describe-groups.ts'
import type { heartbeat } from '../../protocol/apis/heartbeat.ts'
import type { joinGroup } from '../../protocol/apis/join-group.ts'
import type { leaveGroup } from '../../protocol/apis/leave-group.ts'
import type { listGroups } from '../../protocol/apis/list-groups.ts'
import type { offsetCommit } from '../../protocol/apis/offset-commit.ts'
import type { offsetDelete } from '../../protocol/apis/offset-delete.ts'
import type { offsetFetch } from '../../protocol/apis/offset-fetch.ts'
import type { syncGroup } from '../../protocol/apis/sync-group.ts'
import type { Decoded, Encodable } from '../../protocol/dsl.ts'
import type { Later } from '../../util/later.ts'

/**
 * The requests that a group coordinator answers, as the broker's handlers see it: whole request in, whole response
 * out. Nothing here throws or rejects; what fails has its error code in the response. Authorization is the
 * handler's. Follows the `GroupCoordinator` interface of Kafka, plus the checks of topics that `KafkaApis` makes.
 */

/** Who asks, and in which version of the API. */
export interface GroupContext {
  readonly apiVersion: number
  /** From the request header; becomes the first part of a member id. */
  readonly clientId: string | null
  /** As Java prints an address: `/127.0.0.1`. */
  readonly clientHost: string
}

export type JoinGroupRequest = Decoded<typeof joinGroup.request>
export type JoinGroupResponse = Encodable<typeof joinGroup.response>
export type SyncGroupRequest = Decoded<typeof syncGroup.request>
export type SyncGroupResponse = Encodable<typeof syncGroup.response>
export type HeartbeatRequest = Decoded<typeof heartbeat.request>
export type HeartbeatResponse = Encodable<typeof heartbeat.response>
export type LeaveGroupRequest = Decoded<typeof leaveGroup.request>
export type LeaveGroupResponse = Encodable<typeof leaveGroup.response>
export type OffsetCommitRequest = Decoded<typeof offsetCommit.request>
export type OffsetCommitResponse = Encodable<typeof offsetCommit.response>
export type OffsetFetchRequest = Decoded<typeof offsetFetch.request>
export type OffsetFetchResponse = Encodable<typeof offsetFetch.response>
export type DescribeGroupsRequest = Decoded<typeof describeGroups.request>
export type DescribeGroupsResponse = Encodable<typeof describeGroups.response>
export type ListGroupsRequest = Decoded<typeof listGroups.request>
export type ListGroupsResponse = Encodable<typeof listGroups.response>
export type DeleteGroupsRequest = Decoded<typeof deleteGroups.request>
export type DeleteGroupsResponse = Encodable<typeof deleteGroups.response>
export type OffsetDeleteRequest = Decoded<typeof offsetDelete.request>
export type OffsetDeleteResponse = Encodable<typeof offsetDelete.response>

export interface GroupRequests {
  /** Parked until all members have joined. Says nothing that the version asked in cannot say; so do all others. */
  joinGroup(request: JoinGroupRequest, context: GroupContext): Later<JoinGroupResponse>
  /** Parked, for a follower, until the leader's assignment has been stored. */
  syncGroup(request: SyncGroupRequest, context: GroupContext): Later<SyncGroupResponse>
  heartbeat(request: HeartbeatRequest, context: GroupContext): Later<HeartbeatResponse>
  /** v0–2 (one member, `memberId` at the top) and v3 and later (`members`) alike. */
  leaveGroup(request: LeaveGroupRequest, context: GroupContext): Later<LeaveGroupResponse>
  /**
   * The whole request; from v10 on topics come and go by id. A topic or partition that the `TopicsView` does not
   * know is answered UNKNOWN_TOPIC_OR_PARTITION (v10: an unknown id UNKNOWN_TOPIC_ID), the others are stored.
   */
  offsetCommit(request: OffsetCommitRequest, context: GroupContext): Later<OffsetCommitResponse>
  /** The whole request, also the batched one of v8 and later, whose groups may lie on several partitions. */
  offsetFetch(request: OffsetFetchRequest, context: GroupContext): Later<OffsetFetchResponse>
  /** Without `authorizedOperations`, which are for the handler to say. */
  describeGroups(request: DescribeGroupsRequest, context: GroupContext): Later<DescribeGroupsResponse>
  /** The groups of all partitions that are loaded here. */
  listGroups(request: ListGroupsRequest, context: GroupContext): Later<ListGroupsResponse>
  deleteGroups(request: DeleteGroupsRequest, context: GroupContext): Later<DeleteGroupsResponse>
  /** OffsetDelete. */
  deleteOffsets(request: OffsetDeleteRequest, context: GroupContext): Later<OffsetDeleteResponse>
}
