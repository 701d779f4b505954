import { describe, expect, it } from 'vitest'
import { CLOSE, ScriptedBrokers, SILENT } from '../../test/client/scripted-broker.ts'
import { assignors } from '../core/assignors/index.ts'
import { findCoordinator } from '../protocol/apis/find-coordinator.ts'
import { heartbeat } from '../protocol/apis/heartbeat.ts'
import { joinGroup } from '../protocol/apis/join-group.ts'
import { leaveGroup } from '../protocol/apis/leave-group.ts'
import { offsetCommit } from '../protocol/apis/offset-commit.ts'
import { offsetFetch } from '../protocol/apis/offset-fetch.ts'
import { syncGroup } from '../protocol/apis/sync-group.ts'
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from '../protocol/embedded/consumer-protocol.ts'
import { PURE_PLATFORM } from '../records/compression.ts'
import { Later } from '../util/later.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { KafkaClient } from './client.ts'
import { GroupMember, type GroupMemberOptions } from './group-member.ts'
import type { KafkaClientOptions } from './options.ts'
import type { TopicPartition } from './topic-partition.ts'

const named = (name: string) => assignors.filter(each => each.name === name)
const text = (partitions: readonly TopicPartition[]) =>
  partitions.map(each => `${each.topic}-${each.partition}`).join(' ')
const blob = (...partitions: number[]) => encodeAssignment({ assignedPartitions: [{ topic: 'orders', partitions }] })

/** A coordinator whose group has one member, us: the leader, unless `leader` says otherwise. */
function start(options: Partial<GroupMemberOptions> = {}, clientOptions: Partial<KafkaClientOptions> = {}) {
  const env = new VirtualEnv()
  const brokers = new ScriptedBrokers(env)
  brokers.topics.set('orders', { leaders: [1, 1, 1] })
  let generation = 0
  brokers.on(joinGroup, ({ memberId, protocols }, { version }) => {
    if (memberId === '' && version >= 4) return { errorCode: 79, memberId: 'm-1', protocolName: '' }
    const me = memberId || 'm-old'
    const members = [{ memberId: me, metadata: protocols[0].metadata }]
    return { generationId: ++generation, protocolName: protocols[0].name, leader: me, memberId: me, members }
  })
  brokers.on(syncGroup, ({ memberId, assignments }) => ({
    assignment: assignments.find(each => each.memberId === memberId)?.assignment,
  }))
  brokers.on(heartbeat, () => ({}))
  brokers.on(leaveGroup, ({ members }) => ({ members }))
  const bootstrap = [{ host: 'broker', port: 9001 }]
  const client = new KafkaClient({ env, transport: brokers, bootstrap, platform: PURE_PLATFORM, ...clientOptions })
  const events: string[] = []
  const hear = (what: string) => (partitions: readonly TopicPartition[]) => {
    events.push(`${what} ${text(partitions)}`.trim())
    return undefined
  }
  const listener = {
    assigned: hear('+'),
    revoked: hear('-'),
    lost: hear('lost'),
    failed: (error: Error) => void events.push(`failed ${error.message}`),
  }
  const member = new GroupMember(client, { groupId: 'g', topics: ['orders'], listener, ...options })
  return { env, brokers, client, member, events }
}

describe('joining', () => {
  it('takes two steps, syncs as leader, and beats', () => {
    const { env, brokers, member, events } = start()
    member.start()
    env.settle()
    expect(brokers.names).toEqual(['FindCoordinator', 'JoinGroup', 'JoinGroup', 'Metadata', 'SyncGroup'])
    expect(brokers.bodies(joinGroup).map(each => each.memberId)).toEqual(['', 'm-1'])
    expect(member).toMatchObject({ status: 'stable', memberId: 'm-1', generation: 1 })
    expect(text(member.owned)).toBe('orders-0 orders-1 orders-2')
    expect(events).toEqual(['+ orders-0 orders-1 orders-2'])
    env.advance(9000)
    expect(brokers.bodies(heartbeat)).toEqual(
      Array(3).fill({ groupId: 'g', generationId: 1, memberId: 'm-1', groupInstanceId: null }),
    )
  })

  it.each([0, 1, 3, 4, 5, 6, 7, 9])('works with JoinGroup %i and its contemporaries', version => {
    const maxVersions = {
      JoinGroup: version,
      SyncGroup: Math.min(version, 5),
      Heartbeat: Math.min(version, 4),
      LeaveGroup: Math.min(version, 5),
    }
    const { env, brokers, member, events } = start({}, { maxVersions })
    member.start()
    env.advance(3000)
    expect([member.status, events]).toEqual(['stable', ['+ orders-0 orders-1 orders-2']])
    expect(brokers.bodies(heartbeat).length).toBe(1)
    const left = member.leave()
    env.settle()
    expect(left.value.ok).toBe(true)
    const [request] = brokers.bodies(leaveGroup)
    expect(version < 3 ? request.memberId : request.members[0].memberId).toBe(member.memberId)
  })

  it('says what it wants for each assignor, and obeys as a follower', () => {
    const { env, brokers, member } = start({ rackId: 'r1' })
    brokers.on(joinGroup, ({ protocols }) => ({
      generationId: 5,
      protocolName: protocols[1].name,
      leader: 'somebody',
      memberId: 'm-1',
    }))
    brokers.on(syncGroup, () => ({ assignment: blob(2) }))
    member.start()
    env.settle()
    const [{ protocols, protocolType }] = brokers.bodies(joinGroup)
    expect([protocolType, ...protocols.map(each => each.name)]).toEqual(['consumer', 'range', 'cooperative-sticky'])
    expect(decodeSubscription(protocols[0].metadata)).toMatchObject({
      topics: ['orders'],
      rackId: 'r1',
      generationId: -1,
    })
    expect(brokers.bodies(syncGroup)[0]).toMatchObject({ assignments: [], protocolName: 'cooperative-sticky' })
    expect(text(member.owned)).toBe('orders-2')
  })

  it('as leader serves all members, from what they say', () => {
    const { env, brokers, member } = start({ assignors: named('sticky') })
    const theirs = encodeSubscription({ topics: ['orders', 'missing'] })
    brokers.on(joinGroup, ({ protocols }) => ({
      generationId: 1,
      protocolName: 'sticky',
      leader: 'a',
      memberId: 'a',
      members: [
        { memberId: 'a', metadata: protocols[0].metadata },
        { memberId: 'b', metadata: theirs },
      ],
    }))
    member.start()
    env.settle()
    const given = brokers
      .bodies(syncGroup)[0]
      .assignments.map(each => decodeAssignment(each.assignment).assignedPartitions)
    expect(
      given
        .flat()
        .flatMap(each => each.partitions)
        .sort(),
    ).toEqual([0, 1, 2])
    // What it has now it says at the next join, so that it keeps it; an eager member owns nothing while it joins.
    member.requestRejoin()
    env.settle()
    const { ownedPartitions, userData } = decodeSubscription(brokers.bodies(joinGroup)[1].protocols[0].metadata)
    expect([ownedPartitions, userData?.length]).toEqual([[], userData?.length])
    expect(userData?.length).toBeGreaterThan(8)
  })

  it('does not assign when told to skip it', () => {
    const { env, brokers, member } = start({ groupInstanceId: 'i' })
    brokers.on(joinGroup, ({ protocols }) => ({
      generationId: 4,
      protocolName: protocols[0].name,
      leader: 'm-2',
      memberId: 'm-2',
      skipAssignment: true,
      members: [{ memberId: 'm-2', metadata: protocols[0].metadata }],
    }))
    brokers.on(syncGroup, () => ({ assignment: blob(1) }))
    member.start()
    env.settle()
    expect(brokers.bodies(syncGroup)[0]).toMatchObject({ groupInstanceId: 'i', assignments: [] })
    expect(text(member.owned)).toBe('orders-1')
    const left = member.leave()
    env.settle()
    expect([left.value.ok, brokers.bodies(leaveGroup)]).toEqual([true, []])
  })

  it.each([
    [14, 'COORDINATOR_LOAD_IN_PROGRESS'],
    [15, 'COORDINATOR_NOT_AVAILABLE'],
    [16, 'NOT_COORDINATOR'],
    [27, 'REBALANCE_IN_PROGRESS'],
    [25, 'UNKNOWN_MEMBER_ID'],
  ])('goes on after error %i (%s) of join or sync', errorCode => {
    for (const api of [joinGroup, syncGroup]) {
      const { env, brokers, member } = start()
      if (api === joinGroup) brokers.once(joinGroup, { errorCode, protocolName: '' })
      else brokers.once(syncGroup, { errorCode })
      member.start()
      env.advance(1000)
      expect(member.status).toBe('stable')
    }
  })

  it.each([23, 24, 26, 30, 81, 82])('fails for good after error %i', errorCode => {
    const { env, brokers, client, member, events } = start()
    brokers.once(joinGroup, { errorCode, protocolName: '' })
    member.start()
    env.advance(10_000)
    expect(member.status).toBe('failed')
    expect(events).toEqual([`failed ${member.error?.code}`])
    expect(brokers.bodies(joinGroup).length).toBe(1)
    client.close()
    env.settle()
    expect(env.timers).toBe(0)
  })

  it('looks for the coordinator until it finds one', () => {
    const { env, brokers, member } = start()
    brokers.once(findCoordinator, { coordinators: [{ key: 'g', errorCode: 15, errorMessage: null }] }, CLOSE)
    member.start()
    env.advance(2000)
    expect(member.status).toBe('stable')
  })
})

describe('membership', () => {
  it('joins again when a heartbeat tells of a rebalance: an eager member gives up everything first', () => {
    const { env, brokers, member, events } = start()
    member.start()
    env.settle()
    brokers.once(heartbeat, { errorCode: 27 })
    env.advance(3000)
    expect(member).toMatchObject({ status: 'stable', generation: 2, memberId: 'm-1' })
    expect(events.slice(1)).toEqual(['- orders-0 orders-1 orders-2', '+ orders-0 orders-1 orders-2'])
  })

  it.each([
    [22, 'm-1'],
    [25, ''],
  ])('after error %i has lost its partitions, and comes back as "%s"', (errorCode, memberId) => {
    const { env, brokers, member, events } = start()
    member.start()
    env.settle()
    brokers.once(heartbeat, { errorCode })
    env.advance(3000)
    expect(events.slice(1)).toEqual(['lost orders-0 orders-1 orders-2', '+ orders-0 orders-1 orders-2'])
    expect(brokers.bodies(joinGroup)[2].memberId).toBe(memberId)
  })

  it('outlives a coordinator that moves, and a connection that breaks', () => {
    const { env, brokers, member, events } = start()
    brokers.nodes.set(2, 9002)
    member.start()
    env.settle()
    brokers.coordinator = 2
    brokers.once(heartbeat, { errorCode: 16 }, CLOSE)
    env.advance(6000)
    expect([member.status, member.generation, events.length]).toEqual(['stable', 1, 1])
    expect(brokers.seen.filter(each => each.name === 'Heartbeat').map(each => each.port)).toEqual([9001, 9002, 9002])
  })

  it('ends when somebody else takes the instance id', () => {
    const { env, brokers, member, events } = start({ groupInstanceId: 'i' })
    member.start()
    env.settle()
    brokers.once(heartbeat, { errorCode: 82 })
    env.advance(10_000)
    expect(member).toMatchObject({ status: 'failed', error: { code: 'FENCED_INSTANCE_ID' }, owned: [] })
    expect(events.slice(1)).toEqual(['lost orders-0 orders-1 orders-2', 'failed FENCED_INSTANCE_ID'])
  })

  it('beats while its listener takes its time', () => {
    const { env, brokers, member } = start({ listener: { assigned: () => new Later(env2()) } })
    function env2() {
      return env.turns
    }
    member.start()
    env.advance(9000)
    expect(brokers.bodies(heartbeat).length).toBe(3)
  })

  it('rebalances when the topics it leads grow or appear, or when it wants others', () => {
    const { env, brokers, client, member } = start({ topics: ['orders', 'later'] })
    member.start()
    env.settle()
    brokers.topics.set('later', { leaders: [1] })
    env.advance(6000)
    expect([member.generation, text(member.owned)]).toEqual([2, 'later-0 orders-0 orders-1 orders-2'])
    brokers.topics.set('orders', { leaders: [1, 1, 1, 1] })
    client.refresh()
    env.advance(3000)
    expect([member.generation, member.owned.length]).toEqual([3, 5])
    member.subscribe(['later'])
    env.settle()
    expect([member.generation, text(member.owned)]).toEqual([4, 'later-0'])
  })

  it('revokes and leaves; nothing is left behind', () => {
    const { env, brokers, client, member, events } = start()
    member.start()
    env.settle()
    const left = member.leave()
    env.settle()
    expect([left.value.ok, member.status, events.at(-1)]).toEqual([true, 'left', '- orders-0 orders-1 orders-2'])
    expect(brokers.bodies(leaveGroup)[0].members).toMatchObject([{ memberId: 'm-1' }])
    client.close()
    env.settle()
    expect(env.timers).toBe(0)
  })

  it('leaves at once, though its join is parked', () => {
    const { env, brokers, member } = start()
    brokers.once(joinGroup, { errorCode: 79, memberId: 'm-1', protocolName: '' }, SILENT)
    member.start()
    env.settle()
    const left = member.leave()
    env.advance(2000)
    expect([left.settled, brokers.names.at(-1)]).toEqual([true, 'LeaveGroup'])
  })
})

describe('cooperative rebalancing', () => {
  it('keeps what it may keep, gives up the rest after the round, and joins again', () => {
    const { env, brokers, member, events } = start({ assignors: named('cooperative-sticky') })
    member.start()
    env.settle()
    brokers.once(heartbeat, { errorCode: 27 })
    brokers.once(syncGroup, { assignment: blob(0, 1) }, { assignment: blob(0, 1) })
    env.advance(3000)
    expect(member).toMatchObject({ status: 'stable', generation: 3 })
    expect(events.slice(1)).toEqual(['- orders-2', '+', '+'])
    const joins = brokers.bodies(joinGroup).map(each => decodeSubscription(each.protocols[0].metadata))
    expect(joins.map(each => [each.generationId, each.ownedPartitions.flatMap(owned => owned.partitions)])).toEqual([
      [-1, []],
      [-1, []],
      [1, [0, 1, 2]],
      [2, [0, 1]],
    ])
  })

  it('gives up the partitions of topics it no longer wants before it joins', () => {
    const { env, brokers, member, events } = start({
      assignors: named('cooperative-sticky'),
      topics: ['orders', 'other'],
    })
    brokers.topics.set('other', { leaders: [1] })
    member.start()
    env.settle()
    member.subscribe(['orders'])
    env.settle()
    expect(events.slice(1)).toEqual(['- other-0', '+'])
    expect(member.generation).toBe(2)
  })
})

describe('offsets', () => {
  const answerCommit =
    (errorCode: number) =>
    (body: {
      topics: readonly { name: string; topicId: string; partitions: readonly { partitionIndex: number }[] }[]
    }) => ({
      topics: body.topics.map(({ name, topicId, partitions }) => ({
        name,
        topicId,
        partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode })),
      })),
    })

  it('are committed in the name of the member, and tried again when that may help', () => {
    const { env, brokers, member } = start()
    member.start()
    env.settle()
    brokers.on(offsetCommit, answerCommit(0))
    brokers.once(offsetCommit, answerCommit(16), answerCommit(14))
    const committed = member.commit([{ topic: 'orders', partition: 1, offset: 7, leaderEpoch: 2, metadata: 'x' }])
    env.advance(1000)
    expect(committed.value.ok).toBe(true)
    expect(brokers.bodies(offsetCommit).length).toBe(3)
    expect(brokers.bodies(offsetCommit)[2]).toMatchObject({
      memberId: 'm-1',
      generationIdOrMemberEpoch: 1,
      topics: [
        { partitions: [{ partitionIndex: 1, committedOffset: 7, committedLeaderEpoch: 2, committedMetadata: 'x' }] },
      ],
    })
  })

  it.each([
    [22, 'ILLEGAL_GENERATION'],
    [25, 'UNKNOWN_MEMBER_ID'],
    [27, 'REBALANCE_IN_PROGRESS'],
  ])('that are refused with error %i (%s) make the member join again', (errorCode, code) => {
    const { env, brokers, member } = start()
    member.start()
    env.settle()
    brokers.on(offsetCommit, answerCommit(errorCode))
    const committed = member.commit([{ topic: 'orders', partition: 1, offset: 7 }])
    env.settle()
    expect(committed.value).toMatchObject({ ok: false, error: { code } })
    expect(member).toMatchObject({ status: 'stable', generation: 2 })
  })

  it.each([1, 5, 7, 8, 9, 10])('are read in version %i', version => {
    const { env, brokers, member } = start({}, { maxVersions: { OffsetFetch: version } })
    const partitions = [
      { partitionIndex: 0, committedOffset: 5, committedLeaderEpoch: 2, metadata: 'm' },
      { partitionIndex: 1, committedOffset: -1, metadata: '' },
    ]
    brokers.on(offsetFetch, body => {
      if (version < 8) return { topics: [{ name: 'orders', partitions }] }
      const [{ name, topicId }] = body.groups[0].topics as { name: string; topicId: string }[]
      return { groups: [{ groupId: 'g', topics: [{ name, topicId, partitions }] }] }
    })
    const committed = member.committed([0, 1].map(partition => ({ topic: 'orders', partition })))
    env.settle()
    const leaderEpoch = version >= 5 ? 2 : -1
    expect(committed.value).toEqual({
      ok: true,
      value: new Map([['orders:0', { offset: 5, leaderEpoch, metadata: 'm' }]]),
    })
  })
})
