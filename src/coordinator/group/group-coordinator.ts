import { coordinatorPartition } from '../../core/java-hash.ts'
import { ERROR_CODES, type ErrorName } from '../../protocol/errors.ts'
import type { Env } from '../../util/env.ts'
import { Later } from '../../util/later.ts'
import type { CoordinatorLog, TopicsView } from '../ports.ts'
import { CoordinatorRuntime } from '../runtime.ts'
import { heartbeat } from './classic/heartbeat.ts'
import { joinGroup } from './classic/join.ts'
import { leaveGroup } from './classic/leave.ts'
import { forVersion, joinError, syncError } from './classic/responses.ts'
import { syncGroup } from './classic/sync.ts'
import { deleteError, deleteGroup, describeError, describeGroup, listGroups } from './describe.ts'
import type { GroupConfig } from './group-config.ts'
import { GroupMachine, TOMBSTONES_PER_DECISION } from './group-machine.ts'
import type * as requests from './group-requests.ts'
import { commitOffsets, commitResponse, resolveTopics, somethingToCommit } from './offsets/commit.ts'
import { type DeletedTopic, deleteOffsets, deleteTopicOffsets } from './offsets/delete.ts'
import {
  type FetchedGroup,
  type FetchGroup,
  fetchError,
  fetchOffsets,
  fetchResponse,
  groupsOf,
} from './offsets/fetch.ts'

/**
 * The group coordinator of a broker: finds the partition of a group, lets its machine decide, fits answers to the
 * version. The rules of groups and offsets are elsewhere. Follows `GroupCoordinatorService`.
 */

export interface GroupCoordinatorOptions {
  env: Env
  /** Read for each decision, so that configs may change. */
  config: () => GroupConfig
  topics: TopicsView
  /** How many partitions `__consumer_offsets` has, or will have. */
  partitions: () => number
}

/** LeaveGroup has a list of members from this version on. */
const SEVERAL_MEMBERS_SINCE = 3
/** SyncGroup has to name protocol type and name from this version on (KIP-559). */
const SYNC_NAMES_PROTOCOL_SINCE = 5

export class GroupCoordinator implements requests.GroupRequests {
  readonly #env: Env
  readonly #config: () => GroupConfig
  readonly #topics: TopicsView
  readonly #partitions: () => number
  readonly #runtime: CoordinatorRuntime<GroupMachine>
  #closed = false

  constructor({ env, config, topics, partitions }: GroupCoordinatorOptions) {
    this.#env = env
    this.#config = config
    this.#topics = topics
    this.#partitions = partitions
    this.#runtime = new CoordinatorRuntime({
      env,
      create: (_partition, timers) => new GroupMachine({ env, timers, topics, config }),
      commitTimeoutMs: () => config().offsetsCommitTimeoutMs,
    })
  }

  /** The partition of `__consumer_offsets` that keeps a group. */
  partitionFor(groupId: string): number {
    return coordinatorPartition(groupId, this.#partitions())
  }

  /** This broker leads that partition of `__consumer_offsets` now: its groups are loaded and served. */
  elected(partition: number, log: CoordinatorLog): void {
    this.#runtime.becomeLeader(partition, log)
  }

  /** Somebody else leads it now: whoever waits is told NOT_COORDINATOR, what was in memory is dropped. */
  resigned(partition: number): void {
    this.#runtime.resign(partition)
  }

  /** Ends for good: whoever waits is told COORDINATOR_NOT_AVAILABLE, as everybody after; no timer is left. */
  shutdown(): void {
    this.#closed = true
    this.#runtime.close()
  }

  /** How many requests wait, parked or for the high watermark; for tests and metrics. */
  get waiting(): number {
    return this.#runtime.waiting
  }

  /** The state machines of all partitions that are loaded here; for metrics. */
  machines(): GroupMachine[] {
    return this.#runtime.partitions.map(partition => this.#runtime.machine(partition) as GroupMachine)
  }

  /** The state machine of a partition that is loaded here; for tests and metrics. */
  machine(partition: number): GroupMachine | undefined {
    return this.#runtime.machine(partition)
  }

  joinGroup(request: requests.JoinGroupRequest, context: requests.GroupContext): Later<requests.JoinGroupResponse> {
    const { groupId, memberId, sessionTimeoutMs } = request
    const { minSessionTimeoutMs, maxSessionTimeoutMs } = this.#config()
    const badTimeout = sessionTimeoutMs < minSessionTimeoutMs || sessionTimeoutMs > maxSessionTimeoutMs
    const refusal = this.#refusalOf(groupId) ?? (badTimeout ? 'INVALID_SESSION_TIMEOUT' : undefined)
    if (refusal !== undefined) return this.#now(forVersion(joinError(refusal, memberId), context.apiVersion))
    // Version 0 has no rebalance timeout of its own.
    const asked = context.apiVersion === 0 ? { ...request, rebalanceTimeoutMs: sessionTimeoutMs } : request
    return this.#runtime
      .execute<requests.JoinGroupResponse>(
        this.partitionFor(groupId),
        (machine, decision) => joinGroup(machine.context, decision, asked, context),
        error => joinError(error, ''),
      )
      .map(response => forVersion(response, context.apiVersion))
  }

  syncGroup(request: requests.SyncGroupRequest, context: requests.GroupContext): Later<requests.SyncGroupResponse> {
    const { groupId, protocolType, protocolName } = request
    if (context.apiVersion >= SYNC_NAMES_PROTOCOL_SINCE && (protocolType === null || protocolName === null)) {
      return this.#now(syncError('INCONSISTENT_GROUP_PROTOCOL'))
    }
    const refusal = this.#refusalOf(groupId)
    if (refusal !== undefined) return this.#now(syncError(refusal))
    return this.#runtime.execute<requests.SyncGroupResponse>(
      this.partitionFor(groupId),
      (machine, decision) => syncGroup(machine.context, decision, request),
      syncError,
    )
  }

  heartbeat(request: requests.HeartbeatRequest, _context: requests.GroupContext): Later<requests.HeartbeatResponse> {
    const { groupId } = request
    const answer = (error: ErrorName): requests.HeartbeatResponse => ({ errorCode: ERROR_CODES[error] })
    const refusal = this.#refusalOf(groupId)
    if (refusal !== undefined) return this.#now(answer(refusal))
    return this.#runtime.execute<requests.HeartbeatResponse>(
      this.partitionFor(groupId),
      machine => {
        heartbeat(machine.context, request)
        return answer('NONE')
      },
      answer,
    )
  }

  leaveGroup(request: requests.LeaveGroupRequest, context: requests.GroupContext): Later<requests.LeaveGroupResponse> {
    const { groupId } = request
    const several = context.apiVersion >= SEVERAL_MEMBERS_SINCE
    const leaving = several ? request.members : [{ memberId: request.memberId, groupInstanceId: null }]
    const refuse = (error: ErrorName): requests.LeaveGroupResponse => ({ errorCode: ERROR_CODES[error] })
    const refusal = this.#refusalOf(groupId)
    if (refusal !== undefined) return this.#now(refuse(refusal))
    return this.#runtime.execute<requests.LeaveGroupResponse>(
      this.partitionFor(groupId),
      (machine, decision) => {
        const members = leaveGroup(machine.context, decision, groupId, leaving)
        return several ? { errorCode: ERROR_CODES.NONE, members } : { errorCode: members[0].errorCode }
      },
      refuse,
    )
  }

  offsetCommit(
    request: requests.OffsetCommitRequest,
    context: requests.GroupContext,
  ): Later<requests.OffsetCommitResponse> {
    const topics = resolveTopics(request, this.#topics, context.apiVersion)
    const refuse = (error: ErrorName) => commitResponse(topics, () => error)
    if (!somethingToCommit(topics)) return this.#now(refuse('NONE'))
    return this.#runtime.execute<requests.OffsetCommitResponse>(
      this.partitionFor(request.groupId),
      (machine, decision) => commitOffsets(machine.context, decision, request, topics, context),
      refuse,
    )
  }

  offsetFetch(
    request: requests.OffsetFetchRequest,
    { apiVersion }: requests.GroupContext,
  ): Later<requests.OffsetFetchResponse> {
    const fetchOne = (group: FetchGroup) =>
      this.#runtime.execute<FetchedGroup>(
        this.partitionFor(group.groupId),
        machine => fetchOffsets(machine.offsets, this.#topics, group, apiVersion),
        error => fetchError(group, error, apiVersion),
      )
    const fetches = groupsOf(request, apiVersion).map(fetchOne)
    return this.#all(fetches).map(groups => fetchResponse(groups, apiVersion))
  }

  describeGroups(
    request: requests.DescribeGroupsRequest,
    { apiVersion }: requests.GroupContext,
  ): Later<requests.DescribeGroupsResponse> {
    const descriptions = request.groups.map(groupId =>
      this.#runtime.execute(
        this.partitionFor(groupId),
        machine => describeGroup(machine.context, groupId, apiVersion),
        error => describeError(groupId, error),
      ),
    )
    return this.#all(descriptions).map<requests.DescribeGroupsResponse>(groups => ({ groups }))
  }

  listGroups(request: requests.ListGroupsRequest, _context: requests.GroupContext): Later<requests.ListGroupsResponse> {
    const closed = { errorCode: ERROR_CODES.COORDINATOR_NOT_AVAILABLE, groups: [] }
    if (this.#closed) return this.#now<requests.ListGroupsResponse>(closed)
    const lists = this.#runtime.partitions.map(partition =>
      this.#runtime.execute<requests.ListGroupsResponse>(
        partition,
        machine => ({ errorCode: ERROR_CODES.NONE, groups: listGroups(machine.context, request) }),
        // What has moved away meanwhile is listed by somebody else.
        error => ({ errorCode: error === 'NOT_COORDINATOR' ? ERROR_CODES.NONE : ERROR_CODES[error], groups: [] }),
      ),
    )
    return this.#all(lists).map(answers => {
      const failed = answers.find(({ errorCode }) => errorCode !== ERROR_CODES.NONE)
      return failed ?? { errorCode: ERROR_CODES.NONE, groups: answers.flatMap(({ groups }) => groups ?? []) }
    })
  }

  deleteGroups(
    request: requests.DeleteGroupsRequest,
    _context: requests.GroupContext,
  ): Later<requests.DeleteGroupsResponse> {
    const deletions = [...new Set(request.groupsNames)].map(groupId =>
      this.#runtime.execute(
        this.partitionFor(groupId),
        (machine, decision) => deleteGroup(machine.context, machine.offsets, decision, groupId),
        error => deleteError(groupId, error),
      ),
    )
    return this.#all(deletions).map<requests.DeleteGroupsResponse>(results => ({ results }))
  }

  deleteOffsets(
    request: requests.OffsetDeleteRequest,
    _context: requests.GroupContext,
  ): Later<requests.OffsetDeleteResponse> {
    const { groupId } = request
    const topics = this.#topics
    const refuse = (error: ErrorName): requests.OffsetDeleteResponse => ({ errorCode: ERROR_CODES[error], topics: [] })
    const refusal = this.#refusalOf(groupId)
    if (refusal !== undefined) return this.#now(refuse(refusal))
    return this.#runtime.execute<requests.OffsetDeleteResponse>(
      this.partitionFor(groupId),
      (machine, decision) => deleteOffsets(machine.context, machine.offsets, topics, decision, request),
      refuse,
    )
  }

  /** These topics are gone: so is what was committed for them. */
  topicsDeleted(topics: readonly DeletedTopic[]): void {
    for (const partition of this.#runtime.partitions) {
      let more = true
      while (more) {
        const deletion = this.#runtime.execute(
          partition,
          (machine, decision) => {
            more = deleteTopicOffsets(machine.offsets, decision, topics, TOMBSTONES_PER_DECISION)
            return 'NONE' as ErrorName
          },
          error => error,
        )
        // Nobody sees these offsets any more, and the next scan for expired ones takes them: no need to try again.
        if (deletion.settled && deletion.value !== 'NONE') more = false
      }
    }
  }

  /** What is said before the group is asked at all. */
  #refusalOf(groupId: string): ErrorName | undefined {
    if (this.#closed) return 'COORDINATOR_NOT_AVAILABLE'
    return groupId === '' ? 'INVALID_GROUP_ID' : undefined
  }

  #now<T>(value: T): Later<T> {
    return Later.of(this.#env.turns, value)
  }

  /** Settles when all of them have, in their order. */
  #all<T>(laters: readonly Later<T>[]): Later<T[]> {
    const result = new Later<T[]>(this.#env.turns)
    let missing = laters.length
    if (missing === 0) result.settle([])
    for (const later of laters) {
      later.whenSettled(() => {
        if (--missing === 0) result.settle(laters.map(({ value }) => value))
      })
    }
    return result
  }
}
