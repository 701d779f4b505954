import { offsetCommit } from '../../../src/protocol/apis/offset-commit.ts'
import { offsetDelete } from '../../../src/protocol/apis/offset-delete.ts'
import { offsetFetch } from '../../../src/protocol/apis/offset-fetch.ts'
import type { Json, JsonObject } from '../../twin/json.ts'
import type { World } from '../world.ts'

/** Steps about committed offsets: by members and by nobody, of topics that exist and that do not. */

export function commit(world: World): void {
  const group = world.group()
  const version = world.version(offsetCommit)
  const member = group.members.length > 0 && world.chance(0.8) ? world.pick(...group.members) : undefined
  const body: JsonObject = {
    groupId: group.name,
    generationIdOrMemberEpoch:
      member === undefined ? world.mostly(-1, 0, 1) : world.mostly<Json>(member.generation, -1, 0, 99),
    memberId: member === undefined ? world.mostly('', 'stranger') : world.mostly(member.id, '', 'stranger'),
    groupInstanceId: version >= 7 ? world.mostly(member?.instance ?? null, 'i1', 'i9') : null,
  }
  for (let count = 1 + world.int(3); count > 0; count--) {
    const topic = world.topic()
    body[`${topic.name}/${world.partition(topic)}`] = {
      committedOffset: world.pick(0, 1, 5, 100, -1),
      ...(world.chance(0.2) && { committedLeaderEpoch: world.pick(0, 3) }),
      committedMetadata: world.pick<Json>('', null, 'text', 'x'.repeat(world.mostly(30, 4097))),
    }
  }
  world.send(offsetCommit, version, body)
}

export function fetchOffsets(world: World): void {
  const version = world.version(offsetFetch)
  const requireStable = world.chance(0.3)
  if (version < 8) {
    const { name, topics } = asked(world, version)
    world.send(offsetFetch, version, { groupId: name, topics: version < 2 ? (topics ?? []) : topics, requireStable })
    return
  }
  const groups = Array.from({ length: world.mostly(1, 2, 0) }, () => {
    const { name, topics } = asked(world, version)
    const member = world.chance(0.1)
      ? { memberId: world.pick<Json>('stranger', null), memberEpoch: world.pick(0, 1, -1) }
      : {}
    return { groupId: name, topics, ...member }
  })
  world.send(offsetFetch, version, { groups: groups as Json, requireStable })
}

function asked(world: World, version: number): { name: string; topics: Json } {
  const name = world.chance(0.97) ? world.group().name : world.pick('', '@none')
  if (world.chance(0.4)) return { name, topics: null }
  const topics = [...new Set([world.topic(), world.topic()])].map(topic => {
    const id = topic.ids.at(-1)
    const named: JsonObject =
      version < 10 ? { name: topic.name } : { topicId: id === undefined ? 'abcdefghijklmnopqrstuA' : `$${id}` }
    return { ...named, partitionIndexes: [world.partition(topic), ...(world.chance(0.3) ? [0] : [])] }
  })
  return { name, topics }
}

export function deleteOffsets(world: World): void {
  const topic = world.topic()
  const body: JsonObject = { groupId: world.chance(0.97) ? world.group().name : world.pick('', '@none') }
  body[`${topic.name}/${world.partition(topic)}`] = {}
  if (world.chance(0.2)) body[`${world.topic().name}/0`] = {}
  world.send(offsetDelete, 0, body)
}
