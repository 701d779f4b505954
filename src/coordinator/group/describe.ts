import { ERROR_CODES, type ErrorName } from '../../protocol/errors.ts'
import type { Decision } from '../decision.ts'
import type { ClassicContext } from './classic/classic-context.ts'
import type { ClassicGroup } from './classic/classic-group.ts'
import { groupTombstone } from './classic/records.ts'
import type {
  DeleteGroupsResponse,
  DescribeGroupsResponse,
  ListGroupsRequest,
  ListGroupsResponse,
} from './group-requests.ts'
import { allTombstones, type OffsetStore } from './offsets/offset-store.ts'

/**
 * Looking at groups and deleting them: DescribeGroups, ListGroups, DeleteGroups. Follows `describeGroups`,
 * `listGroups` and `validateDeleteGroup` of `GroupMetadataManager`.
 */

export type DescribedGroup = NonNullable<DescribeGroupsResponse['groups']>[number]
export type ListedGroup = NonNullable<ListGroupsResponse['groups']>[number]
export type DeletedGroup = NonNullable<DeleteGroupsResponse['results']>[number]

/** From this version on a group that is not there is an error, not a dead group (KIP-1043). */
const NOT_FOUND_IS_AN_ERROR_SINCE = 6

const NO_BYTES = new Uint8Array(0)

export function describeGroup(context: ClassicContext, groupId: string, apiVersion: number): DescribedGroup {
  const group = context.groups.get(groupId)
  if (group === undefined) {
    return apiVersion >= NOT_FOUND_IS_AN_ERROR_SINCE
      ? describeError(groupId, 'GROUP_ID_NOT_FOUND', 'Dead', `Group ${groupId} not found.`)
      : describeError(groupId, 'NONE', 'Dead')
  }
  // Until it is stable, what members said is for a generation to come; what they were assigned is still shown.
  const stable = group.isIn('Stable')
  const protocolName = group.protocolName ?? ''
  return {
    errorCode: ERROR_CODES.NONE,
    groupId,
    groupState: group.state,
    protocolType: group.protocolType ?? '',
    protocolData: stable ? protocolName : '',
    members: [...group.members.values()].map(member => ({
      memberId: member.memberId,
      groupInstanceId: member.groupInstanceId,
      clientId: member.clientId,
      clientHost: member.clientHost,
      memberMetadata: stable ? member.metadata(protocolName) : NO_BYTES,
      memberAssignment: member.assignment,
    })),
  }
}

export function describeError(
  groupId: string,
  error: ErrorName,
  groupState = '',
  errorMessage: string | null = null,
): DescribedGroup {
  return {
    errorCode: ERROR_CODES[error],
    errorMessage,
    groupId,
    groupState,
    protocolType: '',
    protocolData: '',
    members: [],
  }
}

/** The groups that pass both filters; an empty filter lets all pass, case does not matter. */
export function listGroups(context: ClassicContext, request: ListGroupsRequest): ListedGroup[] {
  const states = request.statesFilter.map(state => state.toLowerCase())
  const types = request.typesFilter.map(type => type.toLowerCase())
  if (types.length > 0 && !types.includes('classic')) return []
  return [...context.groups.values()]
    .filter(group => states.length === 0 || states.includes(group.state.toLowerCase()))
    .map(listed)
}

function listed(group: ClassicGroup): ListedGroup {
  return {
    groupId: group.groupId,
    protocolType: group.protocolType ?? '',
    groupState: group.state,
    groupType: 'classic',
  }
}

/** Deletes a group and all that it has committed, unless it has members. */
export function deleteGroup(
  context: ClassicContext,
  store: OffsetStore,
  decision: Decision,
  groupId: string,
): DeletedGroup {
  const group = context.groups.get(groupId)
  if (group === undefined) return deleteError(groupId, 'GROUP_ID_NOT_FOUND', `Group ${groupId} not found.`)
  if (!group.isIn('Empty')) return deleteError(groupId, 'NON_EMPTY_GROUP', `Group ${groupId} is not empty.`)
  // One by one: a call takes only so many arguments.
  for (const tombstone of allTombstones(store, groupId)) decision.append(tombstone)
  decision.append(groupTombstone(groupId))
  return { groupId, errorCode: ERROR_CODES.NONE, errorMessage: null }
}

export function deleteError(groupId: string, error: ErrorName, message: string | null = null): DeletedGroup {
  return { groupId, errorCode: ERROR_CODES[error], errorMessage: message }
}
