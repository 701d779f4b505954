import { describe, expect, it } from 'vitest'
import { startTestBroker, type TestConnection } from '../../../test/broker/harness.ts'
import { fetch } from '../../protocol/apis/fetch.ts'
import { findCoordinator } from '../../protocol/apis/find-coordinator.ts'
import { heartbeat } from '../../protocol/apis/heartbeat.ts'
import { joinGroup } from '../../protocol/apis/join-group.ts'
import { listOffsets } from '../../protocol/apis/list-offsets.ts'
import { metadata } from '../../protocol/apis/metadata.ts'
import { offsetCommit } from '../../protocol/apis/offset-commit.ts'
import { produce } from '../../protocol/apis/produce.ts'
import { syncGroup } from '../../protocol/apis/sync-group.ts'
import { buildBatch } from '../../records/batch-builder.ts'
import { utf8Encode } from '../../util/utf8.ts'
import { renderTrace } from '../trace.ts'
import type { Fault } from './fault.ts'
import type { FaultRule } from './fault-rule.ts'
import { release } from './faults.ts'
import { addNamedFault, type NamedFault } from './named-faults.ts'

function start() {
  const world = startTestBroker({
    topics: [
      { name: 'orders', partitions: 2 },
      { name: 'other', partitions: 1 },
    ],
  })
  const broker = world.cluster.broker(1)
  const add = (rule: FaultRule) => {
    expect(broker.faults.problemOf(rule)).toBeUndefined()
    return broker.faults.add(rule)
  }
  const named = (fault: NamedFault) => {
    const faults = addNamedFault(broker, fault)
    world.env.settle()
    return faults
  }
  const end = (topic: string, index = 0) => broker.replicas.leader(topic, index).log.logEndOffset
  return { ...world, broker, add, named, end }
}

const batch = () => buildBatch({ records: [{ value: utf8Encode('a') }] })

function send(client: TestConnection, topics: Record<string, number[]>, acks = -1) {
  const topicData = Object.entries(topics).map(([name, partitions]) => ({
    name,
    partitionData: partitions.map(index => ({ index, records: batch() })),
  }))
  return client.send(produce, 9, { acks, timeoutMs: 1000, topicData })
}

/** Topic, partition and error code of each part of an answer to Produce. */
function told(answer: ReturnType<ReturnType<typeof send>>) {
  return answer?.responses.flatMap(({ name, partitionResponses }) =>
    partitionResponses.map(({ index, errorCode }) => `${name}-${index}: ${errorCode}`),
  )
}

describe('an error', () => {
  it('is all that happens to the part of a request that it is about, and the rest is acted on', () => {
    const { connect, add, end } = start()
    const fault = add({ api: 'Produce', topic: 'orders', partition: 1, error: 'NOT_LEADER_OR_FOLLOWER', times: 1 })
    const client = connect()
    expect(told(send(client, { orders: [0, 1], other: [0] })())).toEqual(['orders-0: 0', 'orders-1: 6', 'other-0: 0'])
    expect([end('orders', 0), end('orders', 1), end('other')]).toEqual([1, 0, 1])
    expect(told(send(client, { orders: [0, 1], other: [0] })())).toEqual(['orders-0: 0', 'orders-1: 0', 'other-0: 0'])
    expect(fault.count).toBe(1)
  })

  it('may be said though the broker acted: an acknowledgement that is lost', () => {
    const { connect, add, end } = start()
    add({ api: 'Produce', error: 'REQUEST_TIMED_OUT', acted: true, times: 1 })
    expect(told(send(connect(), { orders: [0] })())).toEqual(['orders-0: 7'])
    expect(end('orders')).toBe(1)
  })

  it('ends the connection of a producer that wants no answer', () => {
    const { connect, add, end } = start()
    add({ api: 'Produce', error: 'NOT_LEADER_OR_FOLLOWER' })
    const client = connect()
    send(client, { orders: [0] }, 0)
    expect(client.closed).toBe(true)
    expect(end('orders')).toBe(0)
  })

  it('reaches a full fetch at once, and an incremental one with the records it would have brought', () => {
    const { connect, add } = start()
    const client = connect()
    const ask = (sessionId: number, sessionEpoch: number, partitions: number[]) => {
      const asked = partitions.map(partition => ({ partition, fetchOffset: 0, partitionMaxBytes: 1e6 }))
      const topics = asked.length > 0 ? [{ topic: 'orders', partitions: asked }] : []
      return client.call(fetch, 12, { maxWaitMs: 0, minBytes: 1, sessionId, sessionEpoch, topics })
    }
    const codes = (answer: ReturnType<typeof ask>) =>
      answer.responses.flatMap(({ partitions }) => partitions.map(each => [each.partitionIndex, each.errorCode]))
    const fault = add({ api: 'Fetch', topic: 'orders', partition: 1, error: 'KAFKA_STORAGE_ERROR', times: 2 })
    const first = ask(0, 0, [0, 1])
    expect(codes(first)).toEqual([
      [0, 0],
      [1, 56],
    ])
    expect(first.sessionId).toBe(0)
    const second = ask(0, 0, [0])
    expect(second.sessionId).not.toBe(0)
    expect(codes(ask(second.sessionId, 1, [1]))).toEqual([[1, 56]])
    expect(fault.count).toBe(2)
    send(client, { orders: [1] })()
    expect(codes(ask(second.sessionId, 2, []))).toEqual([[1, 0]])
  })

  it.each([
    ['for a group', { group: 'billing' }],
    ['for a client', { clientId: 'a' }],
  ])('%s meets no other', (_, target) => {
    const { connect, add } = start()
    add({ api: 'Heartbeat', ...target, error: 'COORDINATOR_LOAD_IN_PROGRESS' })
    const beat = (clientId: string, groupId: string) =>
      connect(clientId).call(heartbeat, 4, { groupId, generationId: 1, memberId: 'm' }).errorCode
    expect(beat('a', 'billing')).toBe(14)
    expect(beat('b', 'another')).toBe(16)
  })

  it('stands where an API has its errors: everywhere in what only reads, at the top of the rest', () => {
    const { connect, add } = start()
    const client = connect()
    add({ api: ['FindCoordinator', 'Metadata', 'ListOffsets', 'OffsetCommit'], error: 'COORDINATOR_NOT_AVAILABLE' })
    const { coordinators } = client.call(findCoordinator, 4, { keyType: 0, coordinatorKeys: ['billing'] })
    expect(coordinators).toMatchObject([{ key: 'billing', errorCode: 15, nodeId: -1, host: '' }])
    expect(client.call(metadata, 12, { topics: [{ name: 'orders' }] }).topics).toMatchObject([
      { name: 'orders', errorCode: 15, partitions: [] },
    ])
    const partitions = [{ partitionIndex: 0, timestamp: -1 }]
    expect(
      client.call(listOffsets, 7, { replicaId: -1, topics: [{ name: 'orders', partitions }] }).topics,
    ).toMatchObject([{ name: 'orders', partitions: [{ partitionIndex: 0, errorCode: 15, offset: -1 }] }])
    const topics = [{ name: 'orders', partitions: [{ partitionIndex: 1, committedOffset: 1 }] }]
    expect(client.call(offsetCommit, 8, { groupId: 'billing', topics }).topics).toEqual([
      { name: 'orders', topicId: expect.any(String), partitions: [{ partitionIndex: 1, errorCode: 15 }] },
    ])
  })
})

describe('a fault', () => {
  it('may drop the connection before the broker acts, or after it', () => {
    const { connect, add, end } = start()
    add({ api: 'Produce', topic: 'orders', drop: true, times: 1 })
    add({ api: 'Produce', topic: 'other', drop: true, acted: true, times: 1 })
    const clients = [connect(), connect()]
    expect(send(clients[0], { orders: [0] })()).toBeUndefined()
    expect(send(clients[1], { other: [0] })()).toBeUndefined()
    expect(clients.map(({ closed }) => closed)).toEqual([true, true])
    expect([end('orders'), end('other')]).toEqual([0, 1])
    expect(told(send(connect(), { orders: [0] })())).toEqual(['orders-0: 0'])
  })

  it('may delay, and the request then has its records still', () => {
    const { connect, add, end, env } = start()
    add({ api: 'Produce', delayMs: 500, times: 1 })
    const client = connect()
    const answer = send(client, { orders: [0] })
    const next = client.send(metadata, 12, { topics: [] })
    env.advance(499)
    expect([client.unread, end('orders')]).toEqual([0, 0])
    env.advance(1)
    expect(told(answer())).toEqual(['orders-0: 0'])
    expect(next()?.brokers).toHaveLength(1)
    expect(end('orders')).toBe(1)
  })

  it('may swallow a request, with all that follows on its connection, until that ends', () => {
    const { connect, add, env, broker } = start()
    const timers = env.timers
    add({ api: 'Metadata', swallow: true, times: 1 })
    const client = connect()
    const answers = [client.send(metadata, 12, { topics: [] }), client.send(metadata, 12, { topics: [] })]
    env.advance(60_000)
    expect(answers.map(answer => answer())).toEqual([undefined, undefined])
    client.disconnect()
    expect(env.timers).toBe(timers)
    expect(broker.requestLog.records()).toMatchObject([{ api: 'Metadata', fault: 'swallowed' }])
  })

  it('may throttle: the client is told, and what it sends meanwhile waits', () => {
    const { connect, add, env } = start()
    add({ api: 'Metadata', throttleMs: 300, times: 1 })
    const client = connect()
    expect(client.call(metadata, 12, { topics: [] }).throttleTimeMs).toBe(300)
    const next = client.send(metadata, 12, { topics: [] })
    env.advance(299)
    expect(next()).toBeUndefined()
    env.advance(1)
    expect(next()?.throttleTimeMs).toBe(0)
  })

  it('nests with others in the order in which they were added', () => {
    const { connect, add, env, end } = start()
    add({ api: 'Produce', delayMs: 100 })
    add({ api: 'Produce', error: 'NOT_LEADER_OR_FOLLOWER' })
    const answer = send(connect(), { orders: [0] })
    env.advance(99)
    expect(answer()).toBeUndefined()
    env.advance(1)
    expect(told(answer())).toEqual(['orders-0: 6'])
    expect(end('orders')).toBe(0)
  })

  it('lets the first through, and then meets as many as it was told to', () => {
    const { connect, add } = start()
    add({ api: 'Produce', error: 'NOT_LEADER_OR_FOLLOWER', after: 2, times: 2 })
    const client = connect()
    const codes = [1, 2, 3, 4, 5].map(() => told(send(client, { orders: [0] })())?.[0].slice(-1))
    expect(codes).toEqual(['0', '0', '6', '6', '0'])
  })

  it('meets by chance, the same requests for the same seed', () => {
    const run = (seed: number) => {
      const { connect, add } = start()
      add({ api: 'Produce', error: 'NOT_LEADER_OR_FOLLOWER', probability: 0.5, seed })
      const client = connect()
      return Array.from({ length: 40 }, () => told(send(client, { orders: [0] })())?.[0].slice(-1)).join('')
    }
    expect(run(1)).toBe(run(1))
    expect(run(1)).not.toBe(run(2))
    expect(run(1)).toMatch(/0/)
    expect(run(1)).toMatch(/6/)
  })

  it('meets each connection that there was as often as it was told to, and none that came later', () => {
    const { connect, add } = start()
    const clients = [connect(), connect()]
    add({ api: 'Produce', error: 'NOT_LEADER_OR_FOLLOWER', timesPerConnection: 1 })
    const codes = [...clients, ...clients, connect()].map(client =>
      told(send(client, { orders: [0] })())?.[0].slice(-1),
    )
    expect(codes).toEqual(['6', '6', '0', '0', '0'])
  })

  it('costs nothing once it has ended', () => {
    const { broker, add } = start()
    expect(broker.interceptor).toBeUndefined()
    const faults = [add({ delayMs: 1 }), add({ swallow: true })]
    expect(broker.interceptor).toBeDefined()
    for (const fault of faults) broker.faults.end(fault)
    expect(broker.interceptor).toBeUndefined()
  })

  it.each<[object, RegExp]>([
    [{ api: 'Produce' }, /exactly one of/],
    [{ api: 'Produce', drop: true, swallow: true }, /exactly one of/],
    [{ api: 'Produced', drop: true }, /no API Produced/],
    [{ api: 'Produce', error: 'OOPS' }, /no error OOPS/],
    [{ error: 'NOT_COORDINATOR' }, /names the APIs/],
    [{ api: 'DeleteGroups', error: 'NOT_COORDINATOR' }, /cannot be answered with an error alone/],
    [{ api: 'Produce', drop: true, times: -1 }, /times cannot be -1/],
    [{ api: 'Produce', drop: true, topics: 'a' }, /no topics/],
  ])('is refused when it is wrong: %o', (rule, problem) => {
    expect(start().broker.faults.problemOf(rule as FaultRule)).toMatch(problem)
  })
})

describe('a gate', () => {
  it('holds requests until they are released, one by one or all', () => {
    const { connect, add, env, broker } = start()
    const fault = add({ api: 'Metadata', hold: true })
    const answers = [1, 2, 3].map(() => connect().send(metadata, 12, { topics: [] }))
    env.advance(10_000)
    const answered = () => answers.filter(answer => answer() !== undefined).length
    expect([fault.held.size, answered()]).toEqual([3, 0])
    release(fault, 1)
    env.settle()
    expect([fault.held.size, answered()]).toEqual([2, 1])
    broker.faults.end(fault)
    env.settle()
    expect([fault.held.size, answered()]).toEqual([0, 2])
  })

  it('forgets whose client is gone, and lets all go when the broker stops', () => {
    const { connect, add, env, cluster, end } = start()
    const fault = add({ api: 'Produce', hold: true })
    const clients = [connect(), connect()]
    for (const client of clients) send(client, { orders: [0] })
    clients[0].disconnect()
    expect(fault.held.size).toBe(1)
    cluster.shutdown()
    env.settle()
    expect([fault.held.size, end('orders'), clients[1].closed]).toEqual([0, 1, true])
  })
})

describe('a named fault', () => {
  /** A group of one that is stable. */
  function join({ connect, env }: ReturnType<typeof start>) {
    const client = connect()
    client.call(findCoordinator, 4, { keyType: 0, coordinatorKeys: ['billing'] })
    const ask = { groupId: 'billing', sessionTimeoutMs: 30_000, rebalanceTimeoutMs: 30_000, protocolType: 'consumer' }
    const protocols = [{ name: 'range', metadata: new Uint8Array(8) }]
    const { memberId } = client.call(joinGroup, 7, { ...ask, protocols })
    const joining = client.send(joinGroup, 7, { ...ask, memberId, protocols })
    env.advance(1)
    const generationId = joining()?.generationId as number
    const group = { groupId: 'billing', generationId, memberId, protocolType: 'consumer', protocolName: 'range' }
    client.call(syncGroup, 5, { ...group, assignments: [{ memberId, assignment: new Uint8Array(4) }] })
    return { beat: () => client.call(heartbeat, 4, { groupId: 'billing', generationId, memberId }).errorCode, memberId }
  }

  it('moves leaders: epochs rise, and each connection hears of it once', () => {
    const { connect, named, end } = start()
    const client = connect()
    const epochs = () =>
      connect()
        .call(metadata, 12, { topics: [{ name: 'orders' }] })
        .topics[0].partitions.map(p => p.leaderEpoch)
    expect(epochs()).toEqual([0, 0])
    named({ name: 'leaderMoves', topic: 'orders' })
    expect(epochs()).toEqual([1, 1])
    expect(told(send(client, { orders: [0], other: [0] })())).toEqual(['other-0: 0', 'orders-0: 6'])
    expect(told(send(client, { orders: [0] })())).toEqual(['orders-0: 0'])
    expect(told(send(connect(), { orders: [0] })())).toEqual(['orders-0: 0'])
    named({ name: 'leaderMoves', topic: 'orders', partition: 1 })
    expect(epochs()).toEqual([1, 2])
    expect(end('orders')).toBe(2)
  })

  it('moves a coordinator: the group is loaded from its log, and its member hears of it once', () => {
    const world = start()
    const { beat, memberId } = join(world)
    const group = () => world.broker.groups.machines().flatMap(({ context }) => [...context.groups.values()])[0]
    const before = group()
    named()
    expect(group()).not.toBe(before)
    expect([...group().members.keys()]).toEqual([memberId])
    expect([beat(), beat()]).toEqual([16, 0])
    function named() {
      world.named({ name: 'coordinatorMoves', group: 'billing' })
    }
  })

  it('fills the disk until it is ended', () => {
    const { connect, named, broker } = start()
    const faults: Fault[] = named({ name: 'diskFull' })
    expect(told(send(connect(), { orders: [0] })())).toEqual(['orders-0: 56'])
    for (const fault of faults) broker.faults.end(fault)
    expect(told(send(connect(), { orders: [0] })())).toEqual(['orders-0: 0'])
  })

  it('slows the disk', () => {
    const { connect, named, env } = start()
    named({ name: 'slowDisk', delayMs: 700 })
    const answer = send(connect(), { orders: [0] })
    env.advance(699)
    expect(answer()).toBeUndefined()
    env.advance(1)
    expect(told(answer())).toEqual(['orders-0: 0'])
  })

  it('begins rebalances one after the other', () => {
    const world = start()
    const { beat } = join(world)
    world.named({ name: 'rebalanceStorm', group: 'billing', times: 2, everyMs: 1000 })
    expect(beat()).toBe(0)
    world.env.advance(0)
    expect(beat()).toBe(27)
    const reasons = () => world.env.lines.filter(({ fields }) => fields.reason === 'a storm of rebalances').length
    expect(reasons()).toBe(1)
    world.env.advance(31_000)
    join(world)
    world.env.advance(5000)
    expect(reasons()).toBe(1)
  })
})

it('is told in the trace, with what was asked and answered', () => {
  const { connect, add, broker } = start()
  add({ api: 'Produce', topic: 'orders', error: 'NOT_LEADER_OR_FOLLOWER', times: 1 })
  const client = connect('shop')
  send(client, { orders: [0, 1] })()
  send(client, { orders: [0] })()
  const lines = renderTrace(broker.requestLog.records({ api: 'Produce' })).split('\n')
  expect(lines.map(line => line.replace(/^\S+ #\d+ /, ''))).toEqual([
    'shop Produce v9 → NOT_LEADER_OR_FOLLOWER (0 ms) [fault: NOT_LEADER_OR_FOLLOWER]',
    'shop Produce v9 → ok (0 ms)',
  ])
  expect(broker.requestLog.records({ failed: true })).toHaveLength(1)
})
