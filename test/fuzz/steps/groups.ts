import { deleteGroups } from '../../../src/protocol/apis/delete-groups.ts'
import { describeGroups } from '../../../src/protocol/apis/describe-groups.ts'
import { findCoordinator } from '../../../src/protocol/apis/find-coordinator.ts'
import { heartbeat } from '../../../src/protocol/apis/heartbeat.ts'
import { joinGroup } from '../../../src/protocol/apis/join-group.ts'
import { leaveGroup } from '../../../src/protocol/apis/leave-group.ts'
import { listGroups } from '../../../src/protocol/apis/list-groups.ts'
import { syncGroup } from '../../../src/protocol/apis/sync-group.ts'
import type { Json, JsonObject } from '../../twin/json.ts'
import type { Group, Member, World } from '../world.ts'

/**
 * Steps about classic groups. Timeouts are longer than any sequence, so that only requests move a group. A request that may
 * park goes over the connection of its member, all others over one that is free.
 */

const SESSION_MS = 60_000

/** A new member: in two steps, or at once by an old version or with an instance id. */
export function joinNew(world: World): void {
  const group = world.group()
  const version = world.version(joinGroup)
  const instance = version >= 5 && world.chance(0.25) ? world.pick('i1', 'i2') : null
  const id = `m${world.next()}`
  const member: Member = {
    id: `$${id}`,
    on: `M${world.next()}`,
    instance,
    generation: -1,
    subscription: subscription(world),
  }
  const twoSteps = version >= 4 && instance === null
  sendJoin(world, group, { ...member, id: '' }, version, id)
  if (twoSteps && world.chance(0.9)) rejoin(world, group, member, version)
  else member.generation = `$gen${id.slice(1)}`
  group.members = group.members.filter(other => instance === null || other.instance !== instance)
  group.members.push(member)
}

/** What stands in its metadata: blobs of real consumers, or any bytes. */
function subscription(world: World): Json {
  if (world.chance(0.4)) return world.pick('m1', 'm2', '')
  return { subscription: { topics: [world.topic().name] }, version: world.int(4) }
}

export function rejoin(world: World, group: Group, member: Member, version?: number): void {
  if (world.chance(0.15)) member.subscription = subscription(world)
  const low = member.instance === null ? 0 : 5
  const id = `x${world.next()}`
  sendJoin(world, group, member, version ?? world.version(joinGroup, low), id)
  member.generation = `$gen${id.slice(1)}`
}

/** @param variable of the member id in the answer; the generation gets the same number */
function sendJoin(world: World, group: Group, member: Member, version: number, variable: string): void {
  const protocols = world.mostly<string[]>(['range'], ['range', 'sticky'], ['sticky', 'range'], ['sticky'], [])
  const body: JsonObject = {
    groupId: group.name,
    sessionTimeoutMs: world.chance(0.98) ? SESSION_MS : world.pick(10, 0, 1_800_001),
    rebalanceTimeoutMs: world.chance(0.99) ? SESSION_MS : SESSION_MS * 2,
    memberId: world.chance(0.98) ? member.id : 'stranger',
    groupInstanceId: member.instance,
    protocolType: world.chance(0.97) ? group.protocolType : world.pick('', 'other'),
    protocols: protocols.map(name => ({ name, metadata: member.subscription })),
    ...(world.chance(0.1) && { reason: 'why' }),
  }
  const bind = { memberId: variable, generationId: `gen${variable.slice(1)}` }
  world.send(joinGroup, version, body, { on: member.on, bind })
}

export function rejoinAll(world: World): void {
  const group = joined(world)
  for (const member of world.shuffled(group.members)) if (world.chance(0.95)) rejoin(world, group, member)
}

export function rejoinOne(world: World): void {
  const group = joined(world)
  rejoin(world, group, world.pick(...group.members))
}

/** A group with members. */
function joined(world: World): Group {
  const found = world.groups.filter(({ members }) => members.length > 0)
  if (found.length > 0) return world.pick(...found)
  joinNew(world)
  return joined(world)
}

export function syncAll(world: World): void {
  const group = joined(world)
  for (const member of world.shuffled(group.members)) if (world.chance(0.95)) sync(world, group, member)
}

function sync(world: World, group: Group, member: Member): void {
  const version = world.version(syncGroup, member.instance === null ? 0 : 3)
  const odd = world.chance(0.05)
  const body: JsonObject = {
    groupId: group.name,
    generationId: generation(world, member),
    memberId: odd && world.chance(0.3) ? 'stranger' : member.id,
    groupInstanceId: odd && world.chance(0.3) ? 'i9' : member.instance,
    protocolType: world.chance(0.96) ? group.protocolType : world.pick<Json>(null, 'other'),
    protocolName: world.chance(0.96) ? 'range' : world.pick<Json>(null, 'other'),
    assignments: group.members.map(({ id }, index) => ({ memberId: id, assignment: `for ${index}` })),
  }
  world.send(syncGroup, version, body, { on: member.on })
}

function generation(world: World, member: Member): Json {
  if (world.chance(0.92)) return member.generation
  return world.pick<Json>(0, 1, 2, -1, 99)
}

export function beat(world: World): void {
  const group = joined(world)
  const member = world.pick(...group.members)
  const version = world.version(heartbeat, member.instance === null ? 0 : 3)
  world.send(heartbeat, version, {
    groupId: world.chance(0.97) ? group.name : world.pick('', '@none'),
    generationId: generation(world, member),
    memberId: world.chance(0.94) ? member.id : world.pick('stranger', ''),
    groupInstanceId: world.chance(0.96) ? member.instance : world.pick('i1', 'i9'),
  })
}

export function leave(world: World): void {
  const group = joined(world)
  const member = world.pick(...group.members)
  const version = world.version(leaveGroup)
  const groupId = world.chance(0.97) ? group.name : world.pick('', '@none')
  if (version < 3) {
    world.send(leaveGroup, version, { groupId, memberId: world.chance(0.93) ? member.id : world.pick('stranger', '') })
  } else {
    const members = [leaver(world, member)]
    if (world.chance(0.2)) members.push(leaver(world, world.pick(...group.members)))
    world.send(leaveGroup, version, { groupId, members: world.chance(0.97) ? members : [] })
  }
  if (world.chance(0.9)) group.members = group.members.filter(other => other !== member)
}

function leaver(world: World, member: Member): JsonObject {
  const byInstance = { memberId: '', groupInstanceId: member.instance ?? 'i9' }
  const byId = { memberId: member.id, groupInstanceId: member.instance }
  if (world.chance(0.06)) return { memberId: 'stranger', groupInstanceId: world.pick<Json>(null, member.instance) }
  return member.instance !== null && world.chance(0.5) ? byInstance : byId
}

export function describeSomeGroups(world: World): void {
  const groups = [world.group().name, ...(world.chance(0.2) ? [world.pick('', '@none', world.group().name)] : [])]
  const includeAuthorizedOperations = world.chance(0.2)
  world.send(describeGroups, world.version(describeGroups), { groups, includeAuthorizedOperations })
}

export function listAllGroups(world: World): void {
  const states = world.pick<string[]>(
    [],
    [],
    ['Stable'],
    ['Empty', 'stable'],
    ['PreparingRebalance', 'CompletingRebalance'],
    ['Odd'],
  )
  const types = world.pick<string[]>([], [], ['classic'], ['Classic', 'consumer'], ['odd'])
  world.send(listGroups, world.version(listGroups), { statesFilter: states, typesFilter: types }, { all: true })
}

export function deleteGroup(world: World): void {
  const groupsNames = [world.group().name, ...(world.chance(0.2) ? [world.pick('', '@none', world.group().name)] : [])]
  world.send(deleteGroups, world.version(deleteGroups), { groupsNames })
}

export function find(world: World): void {
  const version = world.version(findCoordinator)
  const keyType = world.mostly(0, 5, -1)
  const key = world.pick(world.group().name, '')
  world.send(findCoordinator, version, version < 4 ? { key, keyType } : { coordinatorKeys: [key], keyType })
}
