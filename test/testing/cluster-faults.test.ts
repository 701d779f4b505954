/** Faults on demand in a cluster: what is other than with one broker. What is the same is in faults.test.ts. */

import { describe, expect, it } from 'vitest'
import type { RunningCluster } from '../../src/node/index.ts'
import { consumerOf, producerOf, startThree, until } from './support.ts'

const topics = ['orders:3']
const three = { topics }

async function leaders(cluster: RunningCluster, topic = 'orders'): Promise<number[]> {
  const { topicId } = (await cluster.describe()).topics.find(({ name }) => name === topic) ?? {}
  expect(topicId).toBeDefined()
  return (await Promise.all([0, 1, 2].map(partition => cluster.topic(topic).leader(partition)))) as number[]
}

/** One record to each partition. */
const toAll = (value: string) => [0, 1, 2].map(partition => ({ partition, value }))

describe.each([
  ['in this thread', false],
  ['in worker threads', true],
])('a fault of a cluster, %s', (_, workers) => {
  const three = { topics, workers }

  it('meets requests wherever they arrive, and counts them together', async () => {
    const cluster = await startThree(three)
    expect(new Set(await leaders(cluster)).size).toBe(3)
    const producer = await producerOf(cluster)
    const fault = await cluster.fault({ api: 'Produce', error: 'NOT_LEADER_OR_FOLLOWER', times: 2 })
    await producer.send({ topic: 'orders', messages: toAll('a') })
    expect(await fault.count()).toBe(2)
    const refused = await cluster.requests({ api: 'Produce', failed: true })
    expect(new Set(refused.map(({ broker }) => broker)).size).toBe(2)
  })

  it('holds requests of all brokers at one gate, and lets them go on in the order in which they came', async () => {
    const cluster = await startThree(three)
    const led = await leaders(cluster)
    const producer = await producerOf(cluster)
    await producer.send({ topic: 'orders', messages: toAll('before') })
    const gate = await cluster.hold('Produce')
    const order: number[] = []
    const sent: Promise<unknown>[] = []
    for (const partition of [2, 0, 1]) {
      sent.push(
        producer.send({ topic: 'orders', messages: [{ partition, value: 'held' }] }).then(() => order.push(partition)),
      )
      await gate.arrived(sent.length)
    }
    expect(await gate.release(1)).toBe(1)
    await sent[0]
    expect(await gate.release(1)).toBe(1)
    await sent[1]
    expect([order, await gate.held()]).toEqual([[2, 0], 1])
    expect(await gate.release()).toBe(1)
    await Promise.all(sent)
    const held = await cluster.requests({ api: 'Produce' })
    expect(held.filter(({ fault }) => fault === 'held').map(({ broker }) => broker)).toEqual([2, 0, 1].map(p => led[p]))
    await producer.send({ topic: 'orders', messages: toAll('after') })
    expect(await gate.count()).toBe(3)
  })

  it('is there again when a broker is started again, and ends everywhere', async () => {
    const cluster = await startThree(three)
    const fault = await cluster.fault({ api: 'Produce', throttleMs: 1 })
    await cluster.broker(1).kill()
    const other = await cluster.fault({ api: 'Fetch', throttleMs: 1 })
    await cluster.broker(1).restart()
    await cluster.settled()
    const producer = await producerOf(cluster)
    await until(async () => (await cluster.topic('orders').isr(0)).length === 3, 'all in sync')
    await cluster.leaderMoves('orders')
    await until(async () => (await leaders(cluster)).includes(1), 'broker 1 to lead')
    await producer.send({ topic: 'orders', messages: toAll('a') })
    const met = async () => (await cluster.broker(1).requests({ api: 'Produce' })).map(each => each.fault)
    expect(await met()).toContain('throttleMs 1')
    await consumerOf(cluster, { groupId: 'billing', topic: 'orders' })
    await other.met(3)
    await fault.end()
    const before = await fault.count()
    await producer.send({ topic: 'orders', messages: toAll('b') })
    expect(await fault.count()).toBe(before)
    expect((await met()).at(-1)).toBeUndefined()
  })

  it('is refused where it cannot be', async () => {
    const cluster = await startThree({ brokers: 2, workers })
    const wrong = { api: 'Produce', error: 'OOPS' as never }
    const refusal = { code: 'OTTLA_INVALID_OPTION', message: 'there is no error OOPS' }
    await expect(cluster.fault(wrong)).rejects.toMatchObject(refusal)
    await expect(cluster.broker(2).fault(wrong)).rejects.toMatchObject(refusal)
    const [all, one] = [await cluster.diskFull(), await cluster.broker(1).slowDisk()]
    const waiting = (await cluster.hold('Metadata')).arrived(1).catch(error => error)
    await cluster.close()
    expect(await waiting).toMatchObject({ code: 'OTTLA_BROKER_CLOSED' })
    await all.end()
    await one.end()
    await expect(cluster.fault({ api: 'Produce', drop: true })).rejects.toMatchObject({ code: 'OTTLA_BROKER_CLOSED' })
    await expect(cluster.broker(1).diskFull()).rejects.toMatchObject({ code: 'OTTLA_BROKER_CLOSED' })
  })
})

it('meets only what arrives at the broker that it is of', async () => {
  const cluster = await startThree(three)
  const led = await leaders(cluster)
  const producer = await producerOf(cluster)
  await producer.send({ topic: 'orders', messages: toAll('a') })
  const full = await cluster.broker(led[1]).diskFull()
  await producer.send({ topic: 'orders', messages: [{ partition: 0, value: 'b' }] })
  const sent = producer.send({ topic: 'orders', messages: [{ partition: 1, value: 'b' }] })
  await full.met(1)
  const refused = await cluster.requests({ api: 'Produce', failed: true })
  expect(new Set(refused.map(({ broker }) => broker))).toEqual(new Set([led[1]]))
  await full.end()
  await sent
})

describe('what moves', () => {
  it('really moves: leaders to others in sync', async () => {
    const cluster = await startThree(three)
    const before = await leaders(cluster)
    const producer = await producerOf(cluster)
    await producer.send({ topic: 'orders', messages: toAll('before') })
    const moves = await cluster.leaderMoves('orders', { partition: 1 })
    const after = await leaders(cluster)
    expect([after[0], after[2]]).toEqual([before[0], before[2]])
    expect(after[1]).not.toBe(before[1])
    expect((await cluster.topic('orders').isr(1)).length).toBe(3)
    await producer.send({ topic: 'orders', messages: toAll('after') })
    expect(await moves.count()).toBe(1)
    const last = (await cluster.requests({ api: 'Produce', failed: false })).at(-1)
    expect(last?.broker).toBeGreaterThan(0)
  })

  it('really moves: coordinators with the groups that they had', async () => {
    const cluster = await startThree(three)
    const producer = await producerOf(cluster)
    const { values } = await consumerOf(cluster, { groupId: 'billing', topic: 'orders' })
    await producer.send({ topic: 'orders', messages: toAll('before') })
    await until(() => values.length === 3, 'the records')
    const coordinator = async () => (await cluster.requests({ api: 'Heartbeat', failed: false })).at(-1)?.broker
    await until(async () => (await coordinator()) !== undefined, 'a heartbeat')
    const before = await coordinator()
    await cluster.coordinatorMoves('billing')
    await until(async () => (await coordinator()) !== before, 'heartbeats elsewhere')
    await producer.send({ topic: 'orders', messages: toAll('after') })
    await until(() => values.filter(value => value === 'after').length === 3, 'the records after')
  })

  it('tells clients of a move where nobody else can lead', async () => {
    const cluster = await startThree({ topics: [{ name: 'alone', partitions: 1, replicationFactor: 1 }] })
    const producer = await producerOf(cluster)
    await producer.send({ topic: 'alone', messages: [{ value: 'a' }] })
    const [leader, epoch] = [await cluster.topic('alone').leader(), await cluster.topic('alone').leaderEpoch()]
    const moves = await cluster.leaderMoves('alone')
    await producer.send({ topic: 'alone', messages: [{ value: 'b' }] })
    expect(await moves.count()).toBe(1)
    expect(await cluster.topic('alone').leader()).toBe(leader)
    expect(await cluster.topic('alone').leaderEpoch()).toBe(epoch + 1)
  })

  it('is a storm where the group is coordinated', async () => {
    const cluster = await startThree(three)
    await consumerOf(cluster, { groupId: 'billing', topic: 'orders' })
    const stable = async () => (await cluster.describe()).groups.find(({ state }) => state === 'Stable')
    await until(async () => (await stable()) !== undefined, 'a stable group')
    const before = (await stable())?.generationId as number
    await cluster.rebalanceStorm('billing', { times: 1 })
    await until(async () => ((await stable())?.generationId ?? 0) > before, 'another generation')
  })
})
