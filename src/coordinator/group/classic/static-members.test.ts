import { describe, expect, it } from 'vitest'
import { bytes, protocol, World } from '../group-world.contract.ts'

/** Static members (KIP-345): who holds an instance id, and what happens when it is taken over, in each state. */

const P = [protocol('range', 'm')]

/** A stable group of `i1`, the leader, and `i2`. */
function stable() {
  const world = new World({ initialRebalanceDelayMs: 10 })
  const first = world.join({ groupInstanceId: 'i1', protocols: P })
  const second = world.join({ groupInstanceId: 'i2', protocols: P })
  world.wait(20)
  const one = first.value.memberId
  const two = second.value.memberId
  world.sync({ memberId: two, groupInstanceId: 'i2', generationId: 1 })
  world.sync({
    memberId: one,
    groupInstanceId: 'i1',
    generationId: 1,
    assignments: [
      { memberId: one, assignment: bytes('1') },
      { memberId: two, assignment: bytes('2') },
    ],
  })
  return { world, one, two }
}

const state = (world: World) => world.describe().value.groups[0].groupState

describe('a static member', () => {
  it('needs no id first, and has one that begins with its instance id', () => {
    const world = new World()
    const { value } = world.join({ groupInstanceId: 'i1', protocols: P })
    expect(value).toMatchObject({ errorCode: 0, generationId: 1, skipAssignment: false })
    expect(value.memberId).toMatch(/^i1-[0-9a-f]{8}-/)
    expect(value.members).toEqual([{ memberId: value.memberId, groupInstanceId: 'i1', metadata: bytes('m') }])
  })

  it('that comes back in a stable group causes no rebalance', () => {
    const { world, one, two } = stable()
    const { value } = world.join({ groupInstanceId: 'i2', protocols: P })
    expect(value).toMatchObject({ errorCode: 0, generationId: 1, leader: one, skipAssignment: false, members: [] })
    expect(value.memberId).not.toBe(two)
    expect(state(world)).toBe('Stable')
    const sync = world.sync({ memberId: value.memberId, groupInstanceId: 'i2', generationId: 1 })
    expect(sync.value.assignment).toEqual(bytes('2'))
  })

  it('that comes back as the leader is told not to assign, from version 9 on', () => {
    const { world } = stable()
    const { value } = world.join({ groupInstanceId: 'i1', protocols: P }, 9)
    expect(value).toMatchObject({ leader: value.memberId, skipAssignment: true, generationId: 1 })
    expect(value.members).toHaveLength(2)
  })

  it('that comes back as the leader is told that its former self leads, before version 9', () => {
    const { world, one } = stable()
    const { value } = world.join({ groupInstanceId: 'i1', protocols: P }, 8)
    expect(value).toMatchObject({ leader: one, members: [], generationId: 1 })
    expect(world.group().leaderId).toBe(value.memberId)
  })

  it('that comes back with other metadata causes no rebalance, but its next join as the leader does', () => {
    const { world } = stable()
    const protocols = [protocol('range', 'other')]
    const { value } = world.join({ groupInstanceId: 'i1', protocols })
    expect(state(world)).toBe('Stable')
    expect(world.describe().value.groups[0].members.at(-1)?.memberMetadata).toEqual(bytes('other'))
    world.join({ memberId: value.memberId, groupInstanceId: 'i1', protocols })
    expect(state(world)).toBe('PreparingRebalance')
  })

  it('that comes back and changes which protocol wins causes a rebalance', () => {
    const world = new World()
    const both = [protocol('range', 'm'), protocol('sticky', 's')]
    const { memberId } = world.join({ groupInstanceId: 'i1', protocols: both }).value
    world.sync({ memberId, groupInstanceId: 'i1', generationId: 1, assignments: [] })
    const { value } = world.join({ groupInstanceId: 'i1', protocols: [...both].reverse() })
    expect(value).toMatchObject({ generationId: 2, protocolName: 'sticky' })
  })

  it('that comes back while the sync is awaited causes a rebalance, and fences the sync', () => {
    const { world, one, two } = stable()
    // A generation in which i2 has synced and the leader has not.
    world.join({ memberId: one, groupInstanceId: 'i1', protocols: P })
    world.join({ memberId: two, groupInstanceId: 'i2', protocols: P })
    const sync = world.sync({ memberId: two, groupInstanceId: 'i2', generationId: 2 })
    expect(sync.parked).toBe(true)
    const back = world.join({ groupInstanceId: 'i2', protocols: P })
    expect(sync.error).toBe('FENCED_INSTANCE_ID')
    expect(back.parked).toBe(true)
    expect(state(world)).toBe('PreparingRebalance')
  })

  it('that comes back while members are joining fences the join of its former self', () => {
    const { world, one, two } = stable()
    world.join({ memberId: one, groupInstanceId: 'i1', protocols: P })
    const third = world.join({ groupInstanceId: 'i3', protocols: P })
    expect(third.parked).toBe(true)
    const back = world.join({ groupInstanceId: 'i3', protocols: P })
    expect(third.error).toBe('FENCED_INSTANCE_ID')
    expect(back.parked).toBe(true)
    world.join({ memberId: two, groupInstanceId: 'i2', protocols: P })
    expect(back.value).toMatchObject({ errorCode: 0, generationId: 2, leader: one })
  })

  it('that comes back last completes the rebalance', () => {
    const { world, one } = stable()
    const leader = world.join({ memberId: one, groupInstanceId: 'i1', protocols: P })
    expect(leader.parked).toBe(true)
    const back = world.join({ groupInstanceId: 'i2', protocols: P })
    expect([leader.error, back.error]).toEqual(['NONE', 'NONE'])
  })

  it('that was replaced is fenced in whatever it asks', () => {
    const { world, two } = stable()
    world.topics.create('t')
    world.join({ groupInstanceId: 'i2', protocols: P })
    const who = { memberId: two, groupInstanceId: 'i2' }
    expect(world.heartbeat({ ...who, generationId: 1 }).error).toBe('FENCED_INSTANCE_ID')
    expect(world.sync({ ...who, generationId: 1 }).error).toBe('FENCED_INSTANCE_ID')
    expect(world.join({ ...who, protocols: P }).error).toBe('FENCED_INSTANCE_ID')
    expect(world.leave({ members: [who] }).value.members[0].errorCode).toBe(82)
    const commit = world.commit({
      ...who,
      generationIdOrMemberEpoch: 1,
      topics: [{ name: 't', partitions: [{ partitionIndex: 0, committedOffset: 1, committedMetadata: '' }] }],
    })
    expect(commit.value.topics[0].partitions[0].errorCode).toBe(82)
  })

  it('keeps its client id and session until its next heartbeat, as Kafka has it', () => {
    const { world, one } = stable()
    world.clientId = 'another'
    const { memberId } = world.join({ groupInstanceId: 'i2', protocols: P, sessionTimeoutMs: 30_000 }).value
    expect(world.group().member(memberId).clientId).toBe('client')
    world.wait(9_999)
    world.heartbeat({ memberId: one, groupInstanceId: 'i1', generationId: 1 })
    expect(world.heartbeat({ memberId, groupInstanceId: 'i2', generationId: 1 }).error).toBe('NONE')
    for (let passed = 0; passed < 25_000; passed += 5_000) {
      world.wait(5_000)
      world.heartbeat({ memberId: one, groupInstanceId: 'i1', generationId: 1 })
    }
    expect(state(world)).toBe('Stable')
    world.wait(5_000)
    expect(state(world)).toBe('PreparingRebalance')
  })

  it('that does not join keeps its place until its session ends', () => {
    const { world, one, two } = stable()
    const leader = world.join({ memberId: one, groupInstanceId: 'i1', protocols: P, rebalanceTimeoutMs: 3_000 })
    world.group().member(two).rebalanceTimeoutMs = 3_000
    world.join({ memberId: one, groupInstanceId: 'i1', protocols: P, rebalanceTimeoutMs: 3_000 })
    while (leader.parked) {
      world.heartbeat({ memberId: two, groupInstanceId: 'i2', generationId: 1 })
      world.wait(1_000)
    }
    expect(leader.value.members.map(({ groupInstanceId }) => groupInstanceId)).toEqual(['i1', 'i2'])
  })

  it('alone in a rebalance that nobody joins waits for its session to end', () => {
    const { world, two } = stable()
    world.group().member(two).sessionTimeoutMs = 300_000
    world.leave({ members: [{ memberId: '', groupInstanceId: 'i1' }] })
    world.heartbeat({ memberId: two, groupInstanceId: 'i2', generationId: 1 })
    world.wait(200_000)
    expect(state(world)).toBe('PreparingRebalance')
    world.wait(100_000)
    expect(state(world)).toBe('Empty')
  })

  it('can be removed by its instance id alone', () => {
    const { world, two } = stable()
    const { value } = world.leave({ members: [{ memberId: '', groupInstanceId: 'i2' }] })
    expect(value.members).toEqual([{ memberId: '', groupInstanceId: 'i2', errorCode: 0 }])
    expect(world.group().members.has(two)).toBe(false)
    expect(world.leave({ members: [{ memberId: '', groupInstanceId: 'i2' }] }).value.members[0].errorCode).toBe(25)
    expect(world.leave({ members: [{ memberId: '', groupInstanceId: null }] }).value.members[0].errorCode).toBe(25)
  })

  it('survives a change of the coordinator under its instance id', () => {
    const { world, two } = stable()
    const { memberId } = world.join({ groupInstanceId: 'i2', protocols: P }).value
    world.reload()
    expect(world.heartbeat({ memberId, groupInstanceId: 'i2', generationId: 1 }).error).toBe('NONE')
    expect(world.heartbeat({ memberId: two, groupInstanceId: 'i2', generationId: 1 }).error).toBe('FENCED_INSTANCE_ID')
  })

  it('whose replacement cannot be stored stays who it was', () => {
    const { world, one, two } = stable()
    world.log.failing = 'NOT_ENOUGH_REPLICAS'
    const { value } = world.join({ groupInstanceId: 'i1', protocols: [protocol('range', 'other')] })
    expect(value).toMatchObject({ errorCode: 15, memberId: '', members: [], leader: one })
    world.log.failing = undefined
    expect(world.heartbeat({ memberId: one, groupInstanceId: 'i1', generationId: 1 }).error).toBe('NONE')
    expect(world.group().leaderId).toBe(one)
    expect(world.group().member(one).metadata('range')).toEqual(bytes('m'))
    expect(world.group().staticMembers).toEqual(
      new Map([
        ['i2', two],
        ['i1', one],
      ]),
    )
    world.wait(5_000)
    world.heartbeat({ memberId: one, groupInstanceId: 'i1', generationId: 1 })
    world.heartbeat({ memberId: two, groupInstanceId: 'i2', generationId: 1 })
    world.wait(9_999)
    expect(state(world)).toBe('Stable')
  })

  it('whose replacement is stored but not replicated in time is the new one all the same', () => {
    const { world, two } = stable()
    world.log.held = true
    const join = world.join({ groupInstanceId: 'i2', protocols: P })
    expect(join.parked).toBe(true)
    world.wait(5_000)
    expect(join.error).toBe('COORDINATOR_NOT_AVAILABLE')
    world.log.held = false
    world.log.commit()
    expect(world.heartbeat({ memberId: two, groupInstanceId: 'i2', generationId: 1 }).error).toBe('FENCED_INSTANCE_ID')
  })
})
