import { describe, expect, it } from 'vitest'
import { decodeGroupRecord } from '../../protocol/embedded/group-records.ts'
import { errorName } from '../../protocol/errors.ts'
import { ListLog } from '../list-log.contract.ts'
import {
  FOLLOWER_PROTOCOLS,
  groupIn,
  LEADER_PROTOCOLS,
  SCENE_STATES,
  stateOf,
  syncBoth,
} from './group-states.contract.ts'
import { type Answer, protocol, World } from './group-world.contract.ts'

/** What a group goes through when its partition moves, when the log refuses, and what is in the log. */

/** Asks everything once, and gives the error of each answer. */
function askEverything(world: World): Record<string, string> {
  world.topics.create('t')
  const partitions = [{ partitionIndex: 0, committedOffset: 1, committedMetadata: null }]
  const first = <T extends { errorCode: number }>(items: readonly T[]) => errorName(items[0].errorCode)
  return {
    join: world.join({}, 2).error,
    sync: world.sync({ generationId: 1, memberId: 'm' }).error,
    heartbeat: world.heartbeat({ generationId: 1, memberId: 'm' }).error,
    leave: world.leave({ memberId: 'm' }, 2).error,
    leaveSeveral: world.leave({ members: [{ memberId: 'm' }] }).error,
    commit: first(
      world.commit({ generationIdOrMemberEpoch: -1, topics: [{ name: 't', partitions }] }).value.topics[0].partitions,
    ),
    fetch: first(world.fetch({ groups: [{ groupId: 'g', topics: null }] }).value.groups),
    describe: first(world.describe().value.groups),
    deleteGroups: first(world.deleteGroups(['g']).value.results),
    deleteOffsets: world.deleteOffsets({ topics: [{ name: 't', partitions: [{ partitionIndex: 0 }] }] }).error,
  }
}

describe('a group whose partition is not here', () => {
  it('is answered NOT_COORDINATOR', () => {
    const world = new World()
    world.coordinator.resigned(0)
    for (const [request, error] of Object.entries(askEverything(world)))
      expect([request, error]).toEqual([request, 'NOT_COORDINATOR'])
    expect(world.list().value).toMatchObject({ errorCode: 0, groups: [] })
  })

  it('is answered COORDINATOR_NOT_AVAILABLE once the broker stops', () => {
    const world = new World()
    world.coordinator.shutdown()
    for (const [request, error] of Object.entries(askEverything(world))) {
      expect([request, error]).toEqual([request, 'COORDINATOR_NOT_AVAILABLE'])
    }
    expect(world.list().error).toBe('COORDINATOR_NOT_AVAILABLE')
    expect(world.join({ groupId: '' }).error).toBe('COORDINATOR_NOT_AVAILABLE')
  })

  it('lies where Kafka has it', () => {
    const world = new World()
    expect(world.coordinator.partitionFor('anything')).toBe(0)
  })
})

describe('a partition that moves', () => {
  const parkedIn = (world: World): Answer<{ errorCode: number }>[] => {
    const scene = groupIn('CompletingRebalance', world)
    const sync = world.sync({ generationId: 1, memberId: scene.follower })
    const other = world.join({ groupId: 'other' }, 2)
    world.log.held = true
    const list = world.list()
    const heartbeat = world.heartbeat({ generationId: 1, memberId: scene.leader })
    // A new group has a record, so everything behind it waits.
    const third = world.join({ groupId: 'third' })
    const behind = world.heartbeat({ generationId: 1, memberId: scene.leader })
    expect([sync.parked, other.parked, third.parked, behind.parked]).toEqual([true, true, true, true])
    expect([list.parked, heartbeat.parked]).toEqual([false, false])
    return [sync, other, third, behind]
  }

  it('answers everybody who waits NOT_COORDINATOR and leaves no timer', () => {
    const world = new World({ initialRebalanceDelayMs: 10 })
    const answers = parkedIn(world)
    world.coordinator.resigned(0)
    world.settle()
    expect(answers.map(({ error }) => error)).toEqual(Array(4).fill('NOT_COORDINATOR'))
    expect(world.env.timers).toBe(0)
    expect(world.coordinator.waiting).toBe(0)
    expect(world.log.listeners).toBe(0)
  })

  it('answers everybody COORDINATOR_NOT_AVAILABLE when it is because the broker stops', () => {
    const world = new World({ initialRebalanceDelayMs: 10 })
    const answers = parkedIn(world)
    world.coordinator.shutdown()
    world.settle()
    expect(answers.map(({ error }) => error)).toEqual(Array(4).fill('COORDINATOR_NOT_AVAILABLE'))
    expect(world.env.timers).toBe(0)
  })

  it('keeps stable groups: members go on with new sessions', () => {
    const scene = groupIn('Stable')
    const { world, leader, follower, generation } = scene
    const before = world.describe().value
    world.wait(9_000)
    world.reload()
    expect(world.describe().value).toEqual(before)
    world.wait(9_000)
    expect(world.heartbeat({ memberId: leader, generationId: generation }).error).toBe('NONE')
    expect(world.heartbeat({ memberId: follower, generationId: generation }).error).toBe('NONE')
    expect(world.sync({ memberId: follower, generationId: generation }).value.assignment).toEqual(
      protocol('', 'for f').metadata,
    )
    world.wait(1_000)
    expect(world.heartbeat({ memberId: leader, generationId: generation }).error).toBe('NONE')
    world.wait(9_000)
    expect(stateOf(scene)).toBe('PreparingRebalance')
  })

  it('gives its members one session to find it again', () => {
    const scene = groupIn('Stable')
    scene.world.reload()
    scene.world.wait(9_999)
    expect(stateOf(scene)).toBe('Stable')
    scene.world.wait(1)
    expect(stateOf(scene)).toBe('Empty')
  })

  it('forgets a rebalance that was under way: the last stored generation is back', () => {
    const scene = groupIn('PreparingRebalance')
    scene.world.reload()
    expect(stateOf(scene)).toBe('Stable')
    expect(scene.world.group().generationId).toBe(1)
    const again = scene.world.join({ memberId: scene.leader, protocols: LEADER_PROTOCOLS }, 2)
    expect(again.parked).toBe(true)
    const other = scene.world.join({ memberId: scene.follower, protocols: FOLLOWER_PROTOCOLS }, 2)
    expect(other.value.generationId).toBe(2)
  })

  it('keeps the generation of an empty group', () => {
    const { world } = groupIn('Empty')
    world.reload()
    expect(world.group().generationId).toBe(2)
    const join = world.join({}, 2)
    world.wait(10)
    expect(join.value.generationId).toBe(3)
  })

  it('keeps a group that nobody has joined yet', () => {
    const world = new World()
    world.join({})
    world.reload()
    expect(world.describe().value.groups[0]).toMatchObject({ groupState: 'Empty', protocolType: '' })
  })

  it('is loaded from several logs side by side', () => {
    const world = new World()
    const other = new ListLog()
    world.coordinator.elected(3, other)
    world.join({}, 2)
    expect(world.list().value.groups.map(({ groupId }) => groupId)).toEqual(['g'])
    world.coordinator.resigned(0)
    expect(world.list().value.groups).toEqual([])
  })
})

describe('what is in the log', () => {
  const recordsOf = (world: World) => world.log.records.map(({ key, value }) => decodeGroupRecord(key, value))

  it('is a record when a group begins, when it is assigned, and when it is empty again', () => {
    const scene = groupIn('Stable')
    const { world, leader, follower } = scene
    world.leave({ members: [{ memberId: leader }, { memberId: follower }] })
    const member = (memberId: string, subscription: string, assignment: string) => ({
      memberId,
      groupInstanceId: null,
      clientId: 'client',
      clientHost: '/127.0.0.1',
      rebalanceTimeout: 60_000,
      sessionTimeout: 10_000,
      subscription: protocol('', subscription).metadata,
      assignment: protocol('', assignment).metadata,
    })
    const start = world.env.now() - 20
    const key = { group: 'g' }
    const value = (more: object) => ({ type: 'groupMetadata', key, value: more })
    expect(recordsOf(world)).toEqual([
      value({
        protocolType: '',
        generation: 0,
        protocol: null,
        leader: null,
        currentStateTimestamp: -1,
        members: [],
      }),
      value({
        protocolType: 'consumer',
        generation: 1,
        protocol: 'range',
        leader,
        currentStateTimestamp: start + 20,
        members: [member(leader, 'l', 'for l'), member(follower, 'f', 'for f')],
      }),
      value({
        protocolType: 'consumer',
        generation: 2,
        protocol: null,
        leader: null,
        currentStateTimestamp: start + 20,
        members: [],
      }),
    ])
  })

  it('says nothing of heartbeats, joins that wait and syncs of followers', () => {
    const scene = groupIn('Stable')
    const { world, leader, follower, generation } = scene
    const before = world.log.records.length
    world.heartbeat({ memberId: leader, generationId: generation })
    world.sync({ memberId: follower, generationId: generation })
    world.join({}, 2)
    world.join({})
    expect(world.log.records.length).toBe(before)
  })
})

describe('a log that refuses', () => {
  it('does not let a group begin', () => {
    const world = new World({ initialRebalanceDelayMs: 10 })
    world.log.failing = 'NOT_ENOUGH_REPLICAS'
    expect(world.join({}, 2).error).toBe('COORDINATOR_NOT_AVAILABLE')
    expect(world.join({}).error).toBe('COORDINATOR_NOT_AVAILABLE')
    expect(world.join({ protocols: [] }, 2).error).toBe('COORDINATOR_NOT_AVAILABLE')
    expect(world.machine.context.groups.size).toBe(0)
    expect(world.env.timers).toBe(1)
    expect(world.coordinator.waiting).toBe(0)
    world.log.failing = undefined
    const join = world.join({}, 2)
    world.wait(10)
    expect(join.value).toMatchObject({ errorCode: 0, generationId: 1 })
  })

  it('an assignment makes everybody join again', () => {
    const scene = groupIn('CompletingRebalance')
    const { world, leader, follower } = scene
    const parked = world.sync({ memberId: follower, generationId: 1 })
    world.log.failing = 'NOT_LEADER_OR_FOLLOWER'
    const sync = world.sync({ memberId: leader, generationId: 1, assignments: [] })
    expect([parked.error, sync.error]).toEqual(['NOT_COORDINATOR', 'NOT_COORDINATOR'])
    expect(stateOf(scene)).toBe('PreparingRebalance')
    world.log.failing = undefined
    world.join({ memberId: leader, protocols: LEADER_PROTOCOLS }, 2)
    const joined = world.join({ memberId: follower, protocols: FOLLOWER_PROTOCOLS }, 2)
    expect(joined.value.generationId).toBe(2)
    syncBoth({ ...scene, generation: 2 })
    expect(stateOf(scene)).toBe('Stable')
  })

  it('that a group is empty leaves it empty in memory, and its last generation in the log', () => {
    const scene = groupIn('Stable')
    const { world, leader, follower } = scene
    world.log.failing = 'NOT_ENOUGH_REPLICAS'
    world.wait(10_000)
    expect(stateOf(scene)).toBe('Empty')
    world.log.failing = undefined
    world.reload()
    expect(stateOf(scene)).toBe('Stable')
    expect(world.heartbeat({ memberId: leader, generationId: 1 }).error).toBe('NONE')
    expect(world.heartbeat({ memberId: follower, generationId: 1 }).error).toBe('NONE')
  })
})

describe('a high watermark that stands still', () => {
  it('holds back an assignment until it is stored', () => {
    const scene = groupIn('CompletingRebalance')
    const { world, leader, follower } = scene
    world.log.held = true
    const answers = [
      world.sync({ memberId: follower, generationId: 1 }),
      world.sync({ memberId: leader, generationId: 1, assignments: [] }),
    ]
    expect(answers.map(({ error }) => error)).toEqual(['parked', 'parked'])
    expect(world.group().state).toBe('CompletingRebalance')
    world.log.commit()
    world.settle()
    expect(answers.map(({ error }) => error)).toEqual(['NONE', 'NONE'])
    expect(world.group().state).toBe('Stable')
  })

  it('for too long makes everybody join again', () => {
    const scene = groupIn('CompletingRebalance')
    const { world, leader, follower } = scene
    world.log.held = true
    const answers = [
      world.sync({ memberId: follower, generationId: 1 }),
      world.sync({ memberId: leader, generationId: 1, assignments: [] }),
    ]
    world.wait(5_000)
    expect(answers.map(({ error }) => error)).toEqual(Array(2).fill('COORDINATOR_NOT_AVAILABLE'))
    expect(world.group().state).toBe('PreparingRebalance')
    // The record may still be replicated, for a generation that is over.
    world.log.held = false
    world.log.commit()
    world.settle()
    expect(world.group().state).toBe('PreparingRebalance')
  })

  it('while a new member joins makes the assignment worthless', () => {
    const scene = groupIn('CompletingRebalance')
    const { world, leader } = scene
    world.log.held = true
    const sync = world.sync({ memberId: leader, generationId: 1, assignments: [] })
    world.join({}, 2)
    expect(sync.error).toBe('REBALANCE_IN_PROGRESS')
    world.log.commit()
    world.settle()
    expect(world.group().state).toBe('PreparingRebalance')
  })

  it('until the next generation makes the assignment worthless too', () => {
    const { world, leader, follower } = groupIn('CompletingRebalance')
    world.log.held = true
    world.sync({ memberId: leader, generationId: 1, assignments: [] })
    world.join({ memberId: leader, protocols: [protocol('range', 'other')] }, 2)
    world.join({ memberId: follower, protocols: FOLLOWER_PROTOCOLS }, 2)
    expect(world.group()).toMatchObject({ state: 'CompletingRebalance', generationId: 2 })
    world.log.commit()
    world.settle()
    expect(world.group().state).toBe('CompletingRebalance')
  })

  it('lets no new group be dropped that stands in the log already, nor its parked joins', () => {
    const world = new World({ initialRebalanceDelayMs: 8_000 })
    world.log.held = true
    const join = world.join({}, 2)
    world.wait(7_999)
    expect(join.parked).toBe(true)
    world.wait(1)
    expect(join.error).toBe('NONE')
    expect(world.group().state).toBe('CompletingRebalance')
  })
})

describe('LeaveGroup', () => {
  it('answers a parked join or sync of the member that leaves', () => {
    const { world, follower } = groupIn('PreparingRebalance')
    const join = world.join({ memberId: follower, protocols: FOLLOWER_PROTOCOLS }, 2)
    world.leave({ members: [{ memberId: follower }] })
    expect(join.value).toMatchObject({ errorCode: 25, memberId: '' })

    const second = groupIn('CompletingRebalance')
    const sync = second.world.sync({ memberId: second.follower, generationId: 1 })
    second.world.leave({ members: [{ memberId: second.follower }] })
    expect(sync.error).toBe('UNKNOWN_MEMBER_ID')
  })

  it('of several members is one rebalance', () => {
    const { world, leader, follower } = groupIn('Stable')
    world.leave({ members: [{ memberId: leader }, { memberId: 'stranger' }, { memberId: follower }] })
    expect(world.group()).toMatchObject({ state: 'Empty', generationId: 2, leaderId: undefined })
  })

  it('of the last that was missing completes the rebalance', () => {
    const { world, leader, follower } = groupIn('PreparingRebalance')
    const join = world.join({ memberId: leader, protocols: LEADER_PROTOCOLS }, 2)
    expect(join.parked).toBe(true)
    world.leave({ members: [{ memberId: follower }] })
    expect(join.value.generationId).toBe(2)
  })
})

describe('DescribeGroups and ListGroups', () => {
  it('show each state', () => {
    for (const state of SCENE_STATES) {
      const scene = groupIn(state)
      expect(stateOf(scene)).toBe(state)
      const listed = scene.world.list({ statesFilter: [state.toUpperCase()] }).value.groups
      expect(listed.map(({ groupState }) => groupState)).toEqual(state === 'Dead' ? [] : [state])
    }
  })

  it('call a group that is not there dead before version 6, and not found from then on', () => {
    const world = new World()
    expect(world.describe(['x'], 5).value.groups[0]).toMatchObject({ errorCode: 0, groupState: 'Dead' })
    expect(world.describe(['x'], 6).value.groups[0]).toMatchObject({
      errorCode: 69,
      groupState: 'Dead',
      errorMessage: 'Group x not found.',
    })
    expect(world.describe([]).value.groups).toEqual([])
  })

  it('filter by type, whatever the case', () => {
    const { world } = groupIn('Stable')
    const listed = (typesFilter: string[]) => world.list({ typesFilter }).value.groups.length
    expect([listed([]), listed(['Classic']), listed(['consumer']), listed(['consumer', 'CLASSIC'])]).toEqual([
      1, 1, 0, 1,
    ])
  })
})
