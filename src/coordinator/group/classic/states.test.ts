import { describe, expect, it } from 'vitest'
import { errorName } from '../../../protocol/errors.ts'
import {
  FOLLOWER_PROTOCOLS,
  groupIn,
  LEADER_PROTOCOLS,
  SCENE_STATES,
  type Scene,
  stateOf,
} from '../group-states.contract.ts'
import { bytes, protocol, World } from '../group-world.contract.ts'
import { ClassicGroup } from './classic-group.ts'
import type { ClassicGroupState } from './states.ts'

/** Every request in every state: what it is answered, and which state the group is in afterwards. */

type Ask = (scene: Scene) => string

const join =
  (memberId: (scene: Scene) => string, metadata: string): Ask =>
  scene =>
    scene.world.join({ memberId: memberId(scene), protocols: [protocol('range', metadata)] }, 2).error
const leader = (scene: Scene) => scene.leader
const follower = (scene: Scene) => scene.follower
const stranger = () => 'stranger'

const ASK: Record<string, Ask> = {
  'join, new': join(() => '', 'n'),
  'join, new, id required': ({ world }) => world.join({}).error,
  'join, unknown id': join(stranger, 'n'),
  'join, other type': ({ world }) => world.join({ protocolType: 'connect' }, 2).error,
  'join, no common protocol': ({ world }) => world.join({ protocols: [protocol('other', '')] }, 2).error,
  'join, no protocol': ({ world }) => world.join({ protocols: [] }, 2).error,
  'join, leader, same': join(leader, 'l'),
  'join, leader, other': join(leader, 'other'),
  'join, follower, same': join(follower, 'f'),
  'join, follower, other': join(follower, 'other'),
  'sync, leader': ({ world, leader, generation }) => world.sync({ memberId: leader, generationId: generation }).error,
  'sync, follower': ({ world, follower, generation }) =>
    world.sync({ memberId: follower, generationId: generation }).error,
  'sync, old generation': ({ world, leader, generation }) =>
    world.sync({ memberId: leader, generationId: generation - 1 }).error,
  'sync, unknown': ({ world, generation }) => world.sync({ memberId: 'stranger', generationId: generation }).error,
  heartbeat: ({ world, follower, generation }) =>
    world.heartbeat({ memberId: follower, generationId: generation }).error,
  'heartbeat, old generation': ({ world, follower, generation }) =>
    world.heartbeat({ memberId: follower, generationId: generation - 1 }).error,
  'heartbeat, unknown': ({ world, generation }) =>
    world.heartbeat({ memberId: 'stranger', generationId: generation }).error,
  'leave, follower': ({ world, follower }) => world.leave({ memberId: follower }, 2).error,
  'leave, unknown': ({ world }) => world.leave({ memberId: 'stranger' }, 2).error,
  'commit, member': scene => commit(scene, scene.follower, scene.generation),
  'commit, old generation': scene => commit(scene, scene.follower, scene.generation - 1),
  'commit, unknown': scene => commit(scene, 'stranger', scene.generation),
  'commit, no member': scene => commit(scene, '', -1),
  fetch: ({ world }) => errorName(world.fetch({ groups: [{ groupId: 'g', topics: null }] }).value.groups[0].errorCode),
  'delete group': ({ world }) => errorName(world.deleteGroups(['g']).value.results[0].errorCode),
  'delete offsets': ({ world }) => {
    world.topics.create('t')
    return world.deleteOffsets({ topics: [{ name: 't', partitions: [{ partitionIndex: 0 }] }] }).error
  },
}

function commit({ world }: Scene, memberId: string, generationIdOrMemberEpoch: number): string {
  world.topics.create('t')
  const { value } = world.commit({
    memberId,
    generationIdOrMemberEpoch,
    topics: [{ name: 't', partitions: [{ partitionIndex: 0, committedOffset: 1, committedMetadata: null }] }],
  })
  return errorName(value.topics[0].partitions[0].errorCode)
}

const P = 'PreparingRebalance'
const C = 'CompletingRebalance'
// In the order of SCENE_STATES: Dead, Empty, PreparingRebalance, CompletingRebalance, Stable. Behind the arrow the state
// afterwards, where it is another one. The initial delay keeps a group that was empty in PreparingRebalance.
const TABLE: Record<string, readonly string[]> = {
  'join, new': [`parked → ${P}`, `parked → ${P}`, 'parked', `parked → ${P}`, `parked → ${P}`],
  'join, new, id required': ['MEMBER_ID_REQUIRED → Empty', ...Array(4).fill('MEMBER_ID_REQUIRED')],
  'join, unknown id': Array(5).fill('UNKNOWN_MEMBER_ID'),
  'join, other type': [`parked → ${P}`, `parked → ${P}`, ...Array(3).fill('INCONSISTENT_GROUP_PROTOCOL')],
  'join, no common protocol': [`parked → ${P}`, `parked → ${P}`, ...Array(3).fill('INCONSISTENT_GROUP_PROTOCOL')],
  'join, no protocol': ['INCONSISTENT_GROUP_PROTOCOL → Empty', ...Array(4).fill('INCONSISTENT_GROUP_PROTOCOL')],
  'join, leader, same': ['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', 'parked', 'NONE', `parked → ${P}`],
  'join, leader, other': ['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', 'parked', `parked → ${P}`, `parked → ${P}`],
  'join, follower, same': ['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', 'parked', 'NONE', 'NONE'],
  'join, follower, other': ['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', 'parked', `parked → ${P}`, `parked → ${P}`],
  'sync, leader': ['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS', 'NONE → Stable', 'NONE'],
  'sync, follower': ['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS', 'parked', 'NONE'],
  'sync, old generation': ['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', ...Array(3).fill('ILLEGAL_GENERATION')],
  'sync, unknown': Array(5).fill('UNKNOWN_MEMBER_ID'),
  heartbeat: ['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS', 'NONE', 'NONE'],
  'heartbeat, old generation': ['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', ...Array(3).fill('ILLEGAL_GENERATION')],
  'heartbeat, unknown': Array(5).fill('UNKNOWN_MEMBER_ID'),
  'leave, follower': ['UNKNOWN_MEMBER_ID', 'UNKNOWN_MEMBER_ID', 'NONE', `NONE → ${P}`, `NONE → ${P}`],
  'leave, unknown': Array(5).fill('UNKNOWN_MEMBER_ID'),
  'commit, member': ['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'NONE', 'REBALANCE_IN_PROGRESS', 'NONE'],
  'commit, old generation': ['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', ...Array(3).fill('ILLEGAL_GENERATION')],
  'commit, unknown': ['ILLEGAL_GENERATION', ...Array(4).fill('UNKNOWN_MEMBER_ID')],
  'commit, no member': ['NONE → Empty', 'NONE', ...Array(3).fill('UNKNOWN_MEMBER_ID')],
  fetch: Array(5).fill('NONE'),
  'delete group': ['GROUP_ID_NOT_FOUND', 'NONE → Dead', ...Array(3).fill('NON_EMPTY_GROUP')],
  // The members' metadata is no subscription: what they use is not known, so it must not be deleted, but for the table the
  // error that counts is the one at the top.
  'delete offsets': ['GROUP_ID_NOT_FOUND', ...Array(4).fill('NONE')],
}

describe('a classic group', () => {
  it('has a row for every request', () => {
    expect(Object.keys(TABLE)).toEqual(Object.keys(ASK))
  })

  for (const [request, row] of Object.entries(TABLE)) {
    for (const [index, state] of SCENE_STATES.entries()) {
      it(`in ${state} answers "${request}" with ${row[index]}`, () => {
        const scene = groupIn(state)
        expect(stateOf(scene)).toBe(state)
        const answer = ASK[request](scene)
        const after = stateOf(scene)
        expect(after === state ? answer : `${answer} → ${after}`).toBe(row[index])
      })
    }
  }

  it('ends every parked request within the rebalance timeout, whatever came in which state', () => {
    for (const state of SCENE_STATES) {
      for (const ask of Object.values(ASK)) {
        const scene = groupIn(state)
        ask(scene)
        scene.world.wait(10 * 60_000)
        // All members have timed out, so nothing but the scan for expired offsets is left.
        expect(scene.world.env.timers).toBe(1)
        expect(scene.world.coordinator.waiting).toBe(0)
        for (const group of scene.world.machine.context.groups.values()) expect(group.state).toBe('Empty')
      }
    }
  })

  it('moves only as the states allow', () => {
    const all: ClassicGroupState[] = ['Empty', P, C, 'Stable']
    const allowed = new Set([`Empty${P}`, `${P}${C}`, `${P}Empty`, `${C}Stable`, `${C}${P}`, `Stable${P}`])
    const path: Record<ClassicGroupState, ClassicGroupState[]> = {
      Empty: [],
      [P]: [P],
      [C]: [P, C],
      Stable: [P, C, 'Stable'],
    }
    for (const from of all) {
      for (const to of all) {
        const group = new ClassicGroup('g')
        for (const state of path[from]) group.transitionTo(state, 0)
        if (allowed.has(from + to)) group.transitionTo(to, 0)
        else expect(() => group.transitionTo(to, 0), `${from} to ${to}`).toThrow('went from')
      }
    }
  })
})

describe('what all requests have in common', () => {
  it('is a group id that is not empty', () => {
    const world = new World()
    expect(world.join({ groupId: '' }).error).toBe('INVALID_GROUP_ID')
    expect(world.sync({ groupId: '' }).error).toBe('INVALID_GROUP_ID')
    expect(world.heartbeat({ groupId: '' }).error).toBe('INVALID_GROUP_ID')
    expect(world.leave({ groupId: '' }).error).toBe('INVALID_GROUP_ID')
    expect(world.machine.context.groups.size).toBe(0)
  })

  it('is that metadata and assignments are opaque bytes', () => {
    const { world, leader, generation } = groupIn('CompletingRebalance')
    const assignment = new Uint8Array([0xff, 0, 1])
    world.sync({ memberId: leader, generationId: generation, assignments: [{ memberId: leader, assignment }] })
    const { members } = world.describe().value.groups[0]
    expect(members[0].memberAssignment).toEqual(assignment)
    expect(members[0].memberMetadata).toEqual(LEADER_PROTOCOLS[0].metadata)
    expect(members[1].memberMetadata).toEqual(FOLLOWER_PROTOCOLS[0].metadata)
    expect(members[1].memberAssignment).toEqual(bytes(''))
  })
})
