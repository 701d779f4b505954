/** The fixture that gives tests a cluster: what one test breaks, the next finds whole. */

import { Kafka, logLevel } from 'kafkajs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { matchers, type OttlaMatchers, startTestCluster, useCluster } from '../../src/testing/index.ts'
import { lastRequests } from '../../src/testing/told.ts'

declare module 'vitest' {
  interface Matchers<T> extends OttlaMatchers {}
}

expect.extend(matchers)

const hooks = { beforeAll, afterAll, beforeEach, afterEach }

describe('useCluster', () => {
  const kafka = useCluster(hooks, { log: false, topics: ['orders:1'] })

  it('starts a cluster with the topics of the options', async () => {
    const { cluster } = kafka
    await cluster.topic('orders').produce({ value: 'a' })
    await cluster.topic('other').produce({ value: 'a' })
    await cluster.broker(1).kill()
    await cluster.diskFull()
    await cluster.partition([2], [3])
  })

  it('is put back in the next test', async () => {
    const { cluster } = kafka
    expect(cluster.brokers.map(({ state }) => state)).toEqual(['running', 'running', 'running'])
    const { topics } = await cluster.describe()
    expect(topics.map(({ name, partitions }) => [name, partitions[0].isr.length])).toEqual([['orders', 3]])
    await cluster.topic('orders').produce({ value: 'b' })
    await expect(cluster.topic('orders')).toHaveRecords(['b'])
    expect(await cluster.timeline()).not.toContain('killed')
  })

  it('takes members out whose clients are gone', async () => {
    const { cluster } = kafka
    const client = new Kafka({ brokers: cluster.bootstrapServers.split(','), logLevel: logLevel.NOTHING })
    const consumer = client.consumer({ groupId: 'billing', heartbeatInterval: 100 })
    await consumer.connect()
    await consumer.subscribe({ topic: 'orders' })
    await consumer.run({ eachMessage: async () => {} })
    await expect(cluster.group('billing')).toBeStable({ members: 1 })
    await cluster.fault({ api: ['LeaveGroup', 'JoinGroup', 'Heartbeat'], drop: true })
    await cluster.group('billing').empty()
    await consumer.disconnect()
  })
})

describe('useCluster, tests with names of their own', () => {
  const kafka = useCluster(hooks, { log: false, isolation: 'names' })

  it('starts a cluster that replicates', async () => {
    await kafka.cluster.createTopic({ name: 'orders', partitions: 1 })
    expect((await kafka.cluster.topic('orders').isr()).toSorted()).toEqual([1, 2, 3])
    const client = new Kafka({ brokers: kafka.cluster.bootstrapServers.split(','), logLevel: logLevel.NOTHING })
    const producer = client.producer()
    await producer.connect()
    const [sent] = await producer.send({ topic: 'orders', acks: -1, messages: [{ value: 'a' }] })
    expect(sent.baseOffset).toBe('0')
    await producer.disconnect()
  })

  it('may be broken', async () => {
    await kafka.cluster.broker(1).kill()
    await kafka.cluster.broker(2).pause()
    await kafka.cluster.link(3, 'controller').cut()
  })

  it('is whole again in the next test', async () => {
    expect(kafka.cluster.brokers.map(({ state }) => state)).toEqual(['running', 'running', 'running'])
    expect((await kafka.cluster.topic('orders').isr()).toSorted()).toEqual([1, 2, 3])
    const events = await kafka.cluster.events()
    expect(events.filter(({ type }) => type === 'broker').length).toBeGreaterThan(6)
  })
})

describe.each([{ workers: false }, { workers: true }])('topics and groups of a cluster, with %j', given => {
  const kafka = useCluster(hooks, { log: false, ...given })
  const client = () => new Kafka({ brokers: kafka.cluster.bootstrapServers.split(','), logLevel: logLevel.NOTHING })

  it('reads and writes each partition at its leader, and has who leads on the same object', async () => {
    const { cluster } = kafka
    const orders = cluster.topic('orders')
    await orders.create({ partitions: 3 })
    const leaders = await Promise.all([0, 1, 2].map(partition => orders.leader(partition)))
    expect(new Set(leaders).size).toBe(3)
    const placed = await orders.produce(...['a', 'b', 'c'].map((value, partition) => ({ value, partition })))
    expect(placed).toEqual([0, 1, 2].map(partition => ({ partition, offset: 0 })))
    await expect(orders).toHaveRecords(3)
    expect(new Set((await orders.records()).map(({ value }) => value))).toEqual(new Set(['a', 'b', 'c']))
    await orders.clear()
    expect(await orders.records()).toEqual([])
    expect((await orders.produce({ value: 'd', partition: 1 }))[0].offset).toBe(1)
  })

  it('goes where the leader went', async () => {
    const { cluster } = kafka
    const orders = cluster.topic('moved')
    await orders.create({ partitions: 1 })
    await orders.produce({ key: 'k', value: 'before' })
    const old = (await orders.leader()) as number
    await cluster.broker(old).kill()
    // Nobody leads yet: it waits for the next.
    const placed = orders.produce({ value: 'after' })
    await expect(placed).resolves.toEqual([{ partition: 0, offset: 1 }])
    expect(await orders.leader()).not.toBe(old)
    await expect(orders).toHaveRecords([
      { key: 'k', value: 'before' },
      { key: null, value: 'after' },
    ])
  })

  it('says who is in the way', async () => {
    const { cluster } = kafka
    const orders = cluster.topic('orphan')
    await orders.create({ partitions: 1, replicationFactor: 1 })
    const [only] = await orders.replicas()
    await cluster.broker(only).pause()
    await expect(orders.records({ count: 1, timeoutMs: 50 })).rejects.toThrow(
      /broker \d, which leads orphan-0, is paused/,
    )
  })

  it('follows a group to its next coordinator', async () => {
    const { cluster } = kafka
    const orders = cluster.topic('read')
    await orders.create({ partitions: 3 })
    await orders.produce(...['a', 'b', 'c', 'd'].map(value => ({ value })))
    const billing = cluster.group('billing')
    expect((await billing.view()).state).toBe('Dead')
    const consume = async () => {
      const consumer = client().consumer({ groupId: 'billing', maxWaitTimeInMs: 100 })
      await consumer.connect()
      await consumer.subscribe({ topic: 'read', fromBeginning: true })
      await consumer.run({ eachMessage: async () => {} })
      return consumer
    }
    const first = await consume()
    await expect(billing).toBeStable({ members: 1 })
    expect((await billing.members())[0].assignment).toEqual([{ topic: 'read', partitions: [0, 1, 2] }])
    await billing.drained({ topic: 'read' })
    await expect(billing).toHaveLag(0, { topic: 'read' })
    await first.disconnect()
    await billing.empty()

    const [, coordinator] = /broker (\d) #/.exec(await cluster.trace({ api: 'JoinGroup' })) as RegExpExecArray
    await cluster.broker(Number(coordinator)).kill()
    await orders.produce({ value: 'e', partition: 1 }, { value: 'f', partition: 2 })
    expect(await billing.lag()).toBe(2)
    const second = await consume()
    await billing.drained()
    await expect(billing).toBeStable({ members: 1 })
    await second.disconnect()
  }, 30_000)

  it('merges what was asked of all brokers, with what it said', async () => {
    const { cluster } = kafka
    await cluster.topic('spread').create({ partitions: 3 })
    const producer = client().producer()
    await producer.connect()
    await producer.send({ topic: 'spread', messages: [0, 1, 2].map(partition => ({ partition, value: 'x' })) })
    await producer.disconnect()
    const requests = await cluster.requests({ api: 'Produce' })
    expect(new Set(requests.map(({ broker }) => broker)).size).toBe(3)
    expect(requests.map(({ at }) => at)).toEqual(requests.map(({ at }) => at).toSorted((a, b) => a - b))
    const last = await lastRequests(cluster, 2)
    expect(last.split('\n')).toHaveLength(3)
    expect(last).toMatch(/broker \d #\d+ kafkajs/)
  })
})

it('is asked nothing once it is closed', async () => {
  const cluster = await startTestCluster({ brokers: 1, log: false })
  const orders = cluster.topic('orders')
  await orders.produce({ value: 'a' })
  await cluster.close()
  await expect(orders.records()).rejects.toMatchObject({ code: 'OTTLA_BROKER_CLOSED' })
})

it('is not there outside of tests', () => {
  const none = () => {}
  const inUse = useCluster({ beforeAll: none, afterAll: none, beforeEach: none, afterEach: none })
  expect(() => inUse.cluster).toThrow('the cluster is there in tests and hooks only')
})
