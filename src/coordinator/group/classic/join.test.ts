import { describe, expect, it } from 'vitest'
import { groupIn, stateOf, syncBoth } from '../group-states.contract.ts'
import { protocol, World } from '../group-world.contract.ts'

/** JoinGroup: ids, protocols, who leads, how long a join waits. Times are the clock of the VirtualEnv. */

describe('member ids', () => {
  it('are given out first from version 4 on, and begin with the client id', () => {
    const world = new World()
    world.clientId = 'my-app'
    const first = world.join({}, 4)
    expect(first.error).toBe('MEMBER_ID_REQUIRED')
    const { memberId } = first.value
    expect(memberId).toMatch(/^my-app-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
    const second = world.join({ memberId }, 4)
    expect(second.value).toMatchObject({ errorCode: 0, memberId, leader: memberId, generationId: 1 })
  })

  it('are not needed before version 4, and differ for each join of the same client', () => {
    const world = new World({ initialRebalanceDelayMs: 10 })
    const joins = [world.join({}, 3), world.join({}, 3)]
    world.wait(20)
    const ids = joins.map(join => join.value.memberId)
    expect(new Set(ids).size).toBe(2)
    expect(joins[0].value.members.map(({ memberId }) => memberId)).toEqual(ids)
    expect(joins[1].value.members).toEqual([])
  })

  it('of a client without an id begin with the dash, as in Kafka', () => {
    const world = new World()
    world.clientId = null
    expect(world.join({}).value.memberId).toMatch(/^-[0-9a-f]{8}-/)
    expect(world.join({}, 2).value.memberId).toMatch(/^-[0-9a-f]{8}-/)
  })

  it('that were given out hold up a rebalance for one session at most', () => {
    const { world, leader, follower } = groupIn('Stable')
    world.join({ sessionTimeoutMs: 5_000 })
    const again = world.join({ memberId: leader, protocols: [protocol('range', 'l')] }, 2)
    const other = world.join({ memberId: follower, protocols: [protocol('range', 'f')] }, 2)
    world.wait(4_999)
    expect([again.error, other.error]).toEqual(['parked', 'parked'])
    world.wait(1)
    expect([again.error, other.error]).toEqual(['NONE', 'NONE'])
  })

  it('that were given out are forgotten after one session', () => {
    const world = new World()
    const { memberId } = world.join({ sessionTimeoutMs: 5_000 }).value
    world.wait(5_000)
    expect(world.join({ memberId }).error).toBe('UNKNOWN_MEMBER_ID')
  })

  it('that were given out cannot become static members', () => {
    const world = new World()
    const { memberId } = world.join({}).value
    expect(world.join({ memberId, groupInstanceId: 'i' }).error).toBe('UNKNOWN_SERVER_ERROR')
  })
})

describe('session timeouts', () => {
  it('must lie within the bounds of the broker', () => {
    const world = new World({ minSessionTimeoutMs: 6_000, maxSessionTimeoutMs: 20_000 })
    const errors = [5_999, 6_000, 20_000, 20_001].map(sessionTimeoutMs => world.join({ sessionTimeoutMs }).error)
    expect(errors).toEqual([
      'INVALID_SESSION_TIMEOUT',
      'MEMBER_ID_REQUIRED',
      'MEMBER_ID_REQUIRED',
      'INVALID_SESSION_TIMEOUT',
    ])
  })

  it('follow the config while the broker runs', () => {
    const world = new World()
    expect(world.join({ sessionTimeoutMs: 1_000 }).error).toBe('MEMBER_ID_REQUIRED')
    world.config.minSessionTimeoutMs = 2_000
    expect(world.join({ sessionTimeoutMs: 1_000 }).error).toBe('INVALID_SESSION_TIMEOUT')
  })
})

describe('the protocol', () => {
  const elect = (...lists: string[][]) => {
    const world = new World({ initialRebalanceDelayMs: 10 })
    const joins = lists.map(names => world.join({ protocols: names.map(name => protocol(name, name)) }, 9 - 7))
    world.wait(20)
    return joins[0].value.protocolName
  }

  it('is what most vote for first among those that all know', () => {
    expect(elect(['a'])).toBe('a')
    expect(elect(['a', 'b'], ['b', 'a'], ['b', 'a'])).toBe('b')
    expect(elect(['a', 'b', 'c'], ['c', 'b'], ['b', 'c'])).toBe('b')
    expect(elect(['x', 'b'], ['y', 'b'])).toBe('b')
  })

  it('is told with the metadata for it', () => {
    const world = new World({ initialRebalanceDelayMs: 10 })
    const first = world.join({ protocols: [protocol('a', 'a1'), protocol('b', 'b1')] }, 2)
    world.join({ protocols: [protocol('b', 'b2')] }, 2)
    world.wait(20)
    expect(first.value.members.map(({ metadata }) => metadata)).toEqual([
      protocol('', 'b1').metadata,
      protocol('', 'b2').metadata,
    ])
  })

  it('type of an empty group may change', () => {
    const { world } = groupIn('Empty')
    world.join({ protocolType: 'connect', protocols: [protocol('eager', 'x')] }, 2)
    world.wait(20)
    expect(world.describe().value.groups[0].protocolType).toBe('connect')
  })

  it('name is null from version 7 on where there is none, and empty before', () => {
    const world = new World()
    expect(world.join({}, 6).value.protocolName).toBe('')
    expect(world.join({}, 7).value).toMatchObject({ protocolName: null, protocolType: null })
  })
})

describe('the first rebalance', () => {
  const generationAt = (joinsAt: number[], rebalanceTimeoutMs: number) => {
    const world = new World({ initialRebalanceDelayMs: 3_000 })
    const start = world.env.now()
    const joins = joinsAt.map(at => {
      world.wait(start + at - world.env.now())
      return world.join({ rebalanceTimeoutMs }, 2)
    })
    while (joins[0].parked) world.wait(100)
    return { at: world.env.now() - start, members: joins[0].value.members.length }
  }

  it('waits for the initial delay', () => {
    expect(generationAt([0], 60_000)).toEqual({ at: 3_000, members: 1 })
    expect(generationAt([0, 2_900], 60_000)).toEqual({ at: 6_000, members: 2 })
  })

  it('waits again as long as somebody new came, within the rebalance timeout', () => {
    expect(generationAt([0, 2_000, 5_000, 8_000], 60_000)).toEqual({ at: 12_000, members: 4 })
    expect(generationAt([0, 2_000, 5_000, 8_000], 10_000)).toEqual({ at: 10_000, members: 4 })
  })

  it('does not wait with a delay of 0', () => {
    const world = new World({ initialRebalanceDelayMs: 0 })
    expect(world.join({}, 2).error).toBe('NONE')
  })

  it('is the rule again for a group that became empty', () => {
    const { world } = groupIn('Empty', new World({ initialRebalanceDelayMs: 10 }))
    const join = world.join({}, 2)
    expect(join.parked).toBe(true)
    world.wait(20)
    expect(join.value.generationId).toBe(3)
  })
})

describe('a later rebalance', () => {
  it('waits for all members and drops those that do not come within the rebalance timeout', () => {
    const { world, leader, follower } = groupIn('Stable')
    const third = world.join({}, 2)
    const keepAlive = () => world.heartbeat({ memberId: follower, generationId: 1 })
    const again = world.join({ memberId: leader, protocols: [protocol('range', 'l')] }, 2)
    for (let passed = 0; passed < 59_000; passed += 5_000) {
      expect(keepAlive().error).toBe('REBALANCE_IN_PROGRESS')
      expect([third.error, again.error]).toEqual(['parked', 'parked'])
      world.wait(5_000)
    }
    expect([third.error, again.error]).toEqual(['NONE', 'NONE'])
    expect(again.value.members).toHaveLength(2)
    expect(keepAlive().error).toBe('UNKNOWN_MEMBER_ID')
  })

  it('is led by somebody who joined, if the leader did not', () => {
    const { world, leader, follower } = groupIn('Stable')
    const third = world.join({}, 2)
    const again = world.join({ memberId: follower, protocols: [protocol('range', 'f')] }, 2)
    while (again.parked) {
      world.heartbeat({ memberId: leader, generationId: 1 })
      world.wait(1_000)
    }
    expect(again.value.leader).toBe(follower)
    expect(again.value.members.map(({ memberId }) => memberId)).toEqual([follower, third.value.memberId])
  })

  it('has the longest rebalance timeout of its members', () => {
    const { world } = groupIn('Stable')
    const third = world.join({ rebalanceTimeoutMs: 100_000 }, 2)
    const start = world.env.now()
    while (third.parked) {
      for (const memberId of world.group().members.keys()) world.heartbeat({ memberId, generationId: 1 })
      world.wait(1_000)
    }
    expect(world.env.now() - start).toBe(100_000)
  })

  it('uses the session timeout where version 0 has no other', () => {
    const world = new World()
    world.join({ sessionTimeoutMs: 7_000 }, 0)
    expect(world.group().rebalanceTimeoutMs).toBe(7_000)
  })
})

describe('a join whose answer was lost', () => {
  it('is answered with the same generation before the sync', () => {
    const { world, leader, generation } = groupIn('CompletingRebalance')
    const again = world.join({ memberId: leader, protocols: [protocol('range', 'l')] }, 2)
    expect(again.value).toMatchObject({ generationId: generation, leader, memberId: leader })
    expect(again.value.members).toHaveLength(2)
  })

  it('that is sent again while it is parked is answered twice', () => {
    const { world, leader, follower } = groupIn('PreparingRebalance')
    const ask = () => world.join({ memberId: leader, protocols: [protocol('range', 'l')] }, 2)
    const answers = [ask(), ask()]
    expect(answers.map(({ error }) => error)).toEqual(['parked', 'parked'])
    world.join({ memberId: follower, protocols: [protocol('range', 'f')] }, 2)
    expect(answers.map(({ error }) => error)).toEqual(['NONE', 'NONE'])
    expect(answers[0].value).toEqual(answers[1].value)
  })
})

describe('parked members', () => {
  it('do not time out, however long the rebalance takes', () => {
    const { world, leader, follower } = groupIn('Stable')
    world.join({ rebalanceTimeoutMs: 200_000 }, 2)
    const parked = world.join({ memberId: leader, protocols: [protocol('range', 'l')] }, 2)
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      world.heartbeat({ memberId: follower, generationId: 1 })
      world.wait(5_000)
    }
    expect(parked.parked).toBe(true)
    expect(world.group().members.has(leader)).toBe(true)
  })

  it('that are new do, after five minutes', () => {
    const { world, leader, follower } = groupIn('Stable')
    const third = world.join({ rebalanceTimeoutMs: 1_000_000 }, 2)
    const wait = (ms: number) => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        for (const memberId of [leader, follower]) world.heartbeat({ memberId, generationId: 1 })
        world.wait(5_000)
      }
    }
    wait(295_000)
    expect(third.parked).toBe(true)
    wait(5_000)
    expect(third.error).toBe('UNKNOWN_MEMBER_ID')
    expect(world.group().members.size).toBe(2)
  })

  it('have a new session when they are answered', () => {
    const { world, leader, follower } = groupIn('PreparingRebalance')
    const first = world.join({ memberId: leader, protocols: [protocol('range', 'l')] }, 2)
    world.wait(8_000)
    const second = world.join({ memberId: follower, protocols: [protocol('range', 'f')] }, 2)
    expect([first.error, second.error]).toEqual(['NONE', 'NONE'])
    world.wait(9_999)
    expect(world.heartbeat({ memberId: leader, generationId: 2 }).error).toBe('NONE')
    world.wait(1)
    expect(world.heartbeat({ memberId: follower, generationId: 2 }).error).toBe('UNKNOWN_MEMBER_ID')
  })

  it('have a new session when they get their assignment, however long they waited for it', () => {
    const scene = groupIn('CompletingRebalance')
    const { world, leader, follower } = scene
    const sync = world.sync({ memberId: follower, generationId: 1 })
    for (let passed = 0; passed < 30_000; passed += 5_000) {
      world.heartbeat({ memberId: leader, generationId: 1 })
      world.wait(5_000)
    }
    world.sync({ memberId: leader, generationId: 1, assignments: [] })
    expect(sync.error).toBe('NONE')
    world.wait(9_999)
    world.heartbeat({ memberId: leader, generationId: 1 })
    expect(stateOf(scene)).toBe('Stable')
    world.wait(1)
    expect(world.heartbeat({ memberId: follower, generationId: 1 }).error).toBe('UNKNOWN_MEMBER_ID')
  })
})

describe('group.max.size', () => {
  it('counts members while there is a generation', () => {
    const scene = groupIn('Stable', new World({ maxSize: 2, initialRebalanceDelayMs: 10 }))
    const refused = scene.world.join({}, 2)
    expect(refused.value).toMatchObject({ errorCode: 81, memberId: '' })
    expect(stateOf(scene)).toBe('Stable')
  })

  it('counts those that joined while members are joining, so that a group shrinks to what is allowed', () => {
    const scene = groupIn('Stable')
    const { world, leader, follower } = scene
    world.config.maxSize = 1
    const first = world.join({ memberId: leader, protocols: [protocol('range', 'l')] }, 2)
    const second = world.join({ memberId: follower, protocols: [protocol('range', 'f')] }, 2)
    expect(second.error).toBe('GROUP_MAX_SIZE_REACHED')
    expect(first.parked).toBe(true)
    world.wait(60_000)
    expect(first.value.members.map(({ memberId }) => memberId)).toEqual([leader])
  })

  it('is enforced by a rebalance when a group is loaded that is larger', () => {
    const scene = groupIn('Stable')
    scene.world.config.maxSize = 1
    scene.world.reload()
    expect(stateOf(scene)).toBe('PreparingRebalance')
  })
})

describe('members that are silent', () => {
  it('are removed after their session, and the others rebalance', () => {
    const scene = groupIn('Stable')
    const { world, leader, follower } = scene
    world.wait(6_000)
    world.heartbeat({ memberId: leader, generationId: 1 })
    world.wait(4_000)
    expect(stateOf(scene)).toBe('PreparingRebalance')
    expect(world.heartbeat({ memberId: follower, generationId: 1 }).error).toBe('UNKNOWN_MEMBER_ID')
    expect(world.heartbeat({ memberId: leader, generationId: 1 }).error).toBe('REBALANCE_IN_PROGRESS')
  })

  it('are removed when they do not sync, although they send heartbeats', () => {
    const { world, leader, follower } = groupIn('CompletingRebalance')
    world.sync({ memberId: leader, generationId: 1, assignments: [] })
    for (let passed = 0; passed < 60_000; passed += 5_000) {
      for (const memberId of [leader, follower]) {
        expect(world.heartbeat({ memberId, generationId: 1 }).error).toBe('NONE')
      }
      world.wait(5_000)
    }
    expect(world.heartbeat({ memberId: follower, generationId: 1 }).error).toBe('UNKNOWN_MEMBER_ID')
    expect(world.heartbeat({ memberId: leader, generationId: 1 }).error).toBe('REBALANCE_IN_PROGRESS')
  })

  it('keep their session by commits', () => {
    const scene = groupIn('Stable')
    const { world, leader, follower } = scene
    world.topics.create('t')
    for (let passed = 0; passed < 30_000; passed += 5_000) {
      world.commit({
        memberId: leader,
        generationIdOrMemberEpoch: 1,
        topics: [{ name: 't', partitions: [{ partitionIndex: 0, committedOffset: 1, committedMetadata: null }] }],
      })
      world.heartbeat({ memberId: follower, generationId: 1 })
      world.wait(5_000)
    }
    expect(stateOf(scene)).toBe('Stable')
  })
})

describe('a rebalance while syncs wait', () => {
  it('answers them REBALANCE_IN_PROGRESS', () => {
    const { world, follower } = groupIn('CompletingRebalance')
    const sync = world.sync({ memberId: follower, generationId: 1 })
    expect(sync.parked).toBe(true)
    world.join({}, 2)
    expect(sync.error).toBe('REBALANCE_IN_PROGRESS')
  })

  it('gives nobody the assignment of the generation before', () => {
    const scene = groupIn('Stable')
    const { world, leader, follower } = scene
    world.join({ memberId: leader, protocols: [protocol('range', 'l')] }, 2)
    world.join({ memberId: follower, protocols: [protocol('range', 'f')] }, 2)
    const parked = world.sync({ memberId: follower, generationId: 2 })
    expect(parked.parked).toBe(true)
    syncBoth({ ...scene, generation: 2 })
    expect(parked.value.assignment).toEqual(protocol('', 'for f').metadata)
  })

  it('sync sent twice is answered twice', () => {
    const scene = groupIn('CompletingRebalance')
    const ask = () => scene.world.sync({ memberId: scene.follower, generationId: 1 })
    const answers = [ask(), ask()]
    syncBoth(scene)
    expect(answers.map(({ error }) => error)).toEqual(['NONE', 'NONE'])
  })
})
