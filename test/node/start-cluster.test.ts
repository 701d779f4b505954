/** A cluster over real sockets: what its handle does, and what kafkajs sees of it. */

import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kafka, logLevel } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { type ClusterOptions, type RunningCluster, startCluster } from '../../src/node/index.ts'

function kafkaOf(cluster: RunningCluster): Kafka {
  return new Kafka({
    brokers: cluster.bootstrapServers.split(','),
    logLevel: logLevel.NOTHING,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 30 },
  })
}

async function values(kafka: Kafka, topic: string, count: number): Promise<string[]> {
  const consumer = kafka.consumer({ groupId: `reader-${Math.random()}` })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  const found: string[] = []
  await new Promise<void>((resolve, reject) => {
    consumer
      .run({
        eachMessage: async ({ message }) => {
          found.push(String(message.value))
          if (found.length === count) resolve()
        },
      })
      .catch(reject)
  })
  await consumer.disconnect()
  return found
}

// Each has a cluster of its own, and waits most of the time for somebody to be missed: so they wait side by side.
describe.concurrent.each([{ workers: false }, { workers: true }])('startCluster, with %j', given => {
  const start = (options: ClusterOptions = {}) =>
    startCluster({
      log: false,
      ...given,
      ...options,
      onFatal: error => {
        throw error
      },
    })

  it('starts three brokers that replicate', async () => {
    await using cluster = await start({ topics: ['orders:3'], racks: ['a', 'b', 'c'] })
    expect(cluster.bootstrapServers.split(',')).toHaveLength(3)
    expect(cluster.brokers.map(({ id, rack }) => [id, rack])).toEqual([
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ])
    await cluster.settled()
    const leaders = new Set<number | undefined>()
    for (const partition of [0, 1, 2]) {
      expect((await cluster.topic('orders').isr(partition)).toSorted()).toEqual([1, 2, 3])
      leaders.add(await cluster.topic('orders').leader(partition))
    }
    expect(leaders.size).toBe(3)
    expect((await cluster.broker(2).describe()).brokerId).toBe(2)
  })

  it('loses no acknowledged record when leaders are killed under kafkajs', { timeout: 60_000 }, async () => {
    await using cluster = await start({ configs: { 'min.insync.replicas': 2 } })
    await cluster.createTopic({ name: 'orders', partitions: 1, replicationFactor: 3 })
    const kafka = kafkaOf(cluster)
    const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    const sent: string[] = []
    const send = async (count: number) => {
      for (let index = 0; index < count; index++) {
        const value = `value ${sent.length}`
        await producer.send({ topic: 'orders', acks: -1, messages: [{ value }] })
        sent.push(value)
      }
    }
    await send(5)
    const first = (await cluster.topic('orders').leader()) as number
    await cluster.broker(first).kill()
    await send(5)
    expect(await cluster.topic('orders').leader()).not.toBe(first)
    await cluster.broker(first).restart()
    await cluster.settled()
    expect((await cluster.topic('orders').isr()).toSorted()).toEqual([1, 2, 3])
    const second = (await cluster.topic('orders').leader()) as number
    await cluster.broker(second).stop()
    await send(5)
    await cluster.broker(second).restart()
    await cluster.settled()
    await producer.disconnect()
    expect(await values(kafka, 'orders', 15)).toEqual(sent)
    const timeline = await cluster.timeline()
    expect(timeline).toContain(`broker ${first} killed`)
    expect(timeline).toMatch(new RegExp(`orders-0 leader ${first} → \\d \\(epoch 1\\)`))
    const events = await cluster.events()
    expect(events.filter(({ type }) => type === 'leader').length).toBeGreaterThanOrEqual(2)
  })

  it('moves groups to another coordinator', { timeout: 60_000 }, async () => {
    await using cluster = await start({ topics: ['orders:2'] })
    const kafka = kafkaOf(cluster)
    const producer = kafka.producer()
    await producer.connect()
    const consumer = kafka.consumer({ groupId: 'billing', sessionTimeout: 6000, heartbeatInterval: 200 })
    const found: string[] = []
    await consumer.connect()
    await consumer.subscribe({ topic: 'orders', fromBeginning: true })
    await consumer.run({ eachMessage: async ({ message }) => void found.push(String(message.value)) })
    const arrived = (count: number) =>
      expect.poll(() => found.length, { timeout: 20_000, interval: 20 }).toBeGreaterThanOrEqual(count)
    await producer.send({ topic: 'orders', messages: [{ value: 'a' }] })
    await arrived(1)
    const admin = kafka.admin()
    await admin.connect()
    const coordinator = await coordinatorOf(cluster, 'billing')
    await cluster.broker(coordinator).kill()
    await cluster.settled()
    await producer.send({ topic: 'orders', messages: [{ value: 'b' }] })
    await arrived(2)
    expect(await coordinatorOf(cluster, 'billing')).not.toBe(coordinator)
    await Promise.all([consumer.disconnect(), producer.disconnect(), admin.disconnect()])
    expect(new Set(found)).toEqual(new Set(['a', 'b']))
  })

  it('parts the network and heals it', { timeout: 60_000 }, async () => {
    await using cluster = await start()
    await cluster.createTopic({ name: 'orders', partitions: 1 })
    const leader = (await cluster.topic('orders').leader()) as number
    const others = [1, 2, 3].filter(id => id !== leader)
    await cluster.partition([leader], others)
    await cluster.settled()
    expect(others).toContain(await cluster.topic('orders').leader())
    expect((await cluster.topic('orders').isr()).toSorted()).toEqual(others)
    await cluster.heal()
    await cluster.settled()
    expect((await cluster.topic('orders').isr()).toSorted()).toEqual([1, 2, 3])
    await cluster.link(1, 2).slow(20)
    await cluster.link(1, 'controller').cut()
    await cluster.settled()
    expect((await cluster.topic('orders').isr()).includes(1)).toBe(false)
    await cluster.link(1, 'controller').heal()
    await cluster.settled()
  })

  it.skipIf(given.workers)('moves its clock without anybody falling silent', { timeout: 60_000 }, async () => {
    await using cluster = await start({ time: 'virtual', topics: ['orders:3'] })
    await cluster.settled()
    await cluster.advance('8d')
    await new Promise(resolve => setTimeout(resolve, 1500))
    await cluster.settled()
    expect((await cluster.events()).filter(({ type }) => type !== 'broker')).toEqual([])
    expect(await cluster.timeline()).not.toContain(' fenced')
    await expect(cluster.advance('soon')).rejects.toThrow('not a span of time')
  })

  it('refuses connections while a broker is dead, and holds them while it is paused', { timeout: 60_000 }, async () => {
    await using cluster = await start()
    const broker = cluster.broker(2)
    const connects = () =>
      new Promise<boolean>(resolve => {
        const socket = createConnection(broker.port, broker.host)
        socket.once('connect', () => {
          socket.destroy()
          resolve(true)
        })
        socket.once('error', () => resolve(false))
      })
    await broker.kill()
    expect(await connects()).toBe(false)
    await cluster.settled()
    await broker.restart()
    expect(await connects()).toBe(true)
    await broker.pause()
    expect(broker.state).toBe('paused')
    expect(await connects()).toBe(true)
    await broker.resume()
    await cluster.settled()
  })

  it('stops nobody any more who is killed meanwhile', async () => {
    await using cluster = await start()
    await cluster.link(1, 'controller').cut()
    const stopping = cluster.broker(1).stop()
    await cluster.broker(1).kill()
    await stopping
    expect(cluster.broker(1).state).toBe('killed')
    await cluster.heal()
    await cluster.broker(1).restart()
    await cluster.settled()
  })

  it('loses what was not flushed with the power', { timeout: 60_000 }, async () => {
    await using cluster = await start({ brokers: 1 })
    await cluster.createTopic({ name: 'orders', partitions: 1 })
    const kafka = kafkaOf(cluster)
    const producer = kafka.producer()
    await producer.connect()
    await producer.send({ topic: 'orders', messages: [{ value: 'a' }] })
    const end = async () => (await cluster.broker(1).describe()).topics[0].partitions[0].logEndOffset
    await cluster.broker(1).kill()
    await cluster.broker(1).restart()
    await producer.send({ topic: 'orders', messages: [{ value: 'b' }] })
    expect(await end()).toBe(2)
    await cluster.broker(1).kill({ powerLoss: true })
    await cluster.broker(1).restart()
    await producer.send({ topic: 'orders', messages: [{ value: 'c' }] })
    expect(await end()).toBe(1)
    await producer.disconnect()
  })

  it('finds everything again in its data directories', { timeout: 60_000 }, async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'ottla-cluster-'))
    try {
      let clusterId: string
      {
        await using cluster = await start({ dataDir, topics: ['orders:1'] })
        clusterId = cluster.clusterId
        const producer = kafkaOf(cluster).producer()
        await producer.connect()
        await producer.send({ topic: 'orders', messages: [{ value: 'a' }] })
        await cluster.broker(1).kill()
        await cluster.settled()
        await producer.send({ topic: 'orders', messages: [{ value: 'b' }] })
        await cluster.broker(1).restart()
        await cluster.settled()
        await producer.disconnect()
      }
      await using cluster = await start({ dataDir })
      expect(cluster.clusterId).toBe(clusterId)
      await cluster.settled()
      expect((await cluster.topic('orders').isr()).toSorted()).toEqual([1, 2, 3])
      expect(await values(kafkaOf(cluster), 'orders', 2)).toEqual(['a', 'b'])
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })

  it.each([
    [{ brokers: 0 }, 'there cannot be 0 brokers'],
    [{ brokers: 2, port: [9092] }, '1 ports for 2 brokers'],
    [{ worker: true } as ClusterOptions, 'worker is an option of startBroker only'],
    [{ advertised: 'localhost:9092' }, 'the brokers of a cluster have ports of their own'],
    [{ http: { token: 'sixteen characters' } } as ClusterOptions, 'no cluster can be driven over HTTP'],
    [{ topics: [{ name: 'a', replicationFactor: 4 }] }, 'only 3 broker(s) are registered'],
  ])('refuses %j', async (options, message) => {
    await expect(start(options)).rejects.toThrow(message)
  })
})

/** Who leads the partition that keeps a group. */
async function coordinatorOf(cluster: RunningCluster, groupId: string): Promise<number> {
  for (const broker of cluster.brokers) {
    if (broker.state !== 'running') continue
    const { groups } = await broker.describe()
    if (groups.some(group => group.groupId === groupId)) return broker.id
  }
  throw new Error(`no broker has group ${groupId}`)
}
