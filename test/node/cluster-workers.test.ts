/**
 * Brokers in threads of their own: what is not the same as with all of them in one thread (start-cluster.test.ts and the others run with both).
 * A thread may stand still or die, and none is left when the cluster is closed.
 */
import { BroadcastChannel, type Worker, type WorkerOptions } from 'node:worker_threads'
import { Kafka, logLevel } from 'kafkajs'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ClusterOptions } from '../../src/node/index.ts'
import { matchers, type OttlaMatchers, startTestCluster, type TestCluster } from '../../src/testing/index.ts'
import { askApiVersions, until } from './support.ts'

declare module 'vitest' {
  interface Matchers<T> extends OttlaMatchers {}
}

expect.extend(matchers)

/** Every thread that was started, and whether it has ended. */
const threads = vi.hoisted(() => new Map<Worker, boolean>())

vi.mock('node:worker_threads', async original => {
  const real = await original<typeof import('node:worker_threads')>()
  class ReachableWorker extends real.Worker {
    constructor(_entry: URL, options: WorkerOptions) {
      super(new URL('./reachable-worker.mjs', import.meta.url), options)
      threads.set(this, false)
      this.on('exit', () => threads.set(this, true))
    }
  }
  return { ...real, Worker: ReachableWorker }
})

const channel = new BroadcastChannel('ottla-test-threads')
channel.unref()

/** What was fatal, in the last cluster. */
let fatal: Error[] = []

function start(options: ClusterOptions = {}): Promise<TestCluster> {
  fatal = []
  return startTestCluster({ workers: true, log: false, onFatal: error => fatal.push(error), ...options })
}

/** The thread of a broker stands still, until it is woken by what this returns. */
async function block(broker: number): Promise<() => void> {
  const cell = new Int32Array(new SharedArrayBuffer(8))
  channel.postMessage({ run: process.pid, broker, act: 'block', cell })
  await until(() => Atomics.load(cell, 1) === 1, 'the thread to stand still')
  return () => {
    Atomics.store(cell, 0, 1)
    Atomics.notify(cell, 0)
  }
}

/** It throws what nobody catches. */
function die(broker: number): void {
  channel.postMessage({ run: process.pid, broker, act: 'die' })
}

afterEach(() => {
  expect([...threads.values()], 'a thread outlives its cluster').not.toContain(false)
  threads.clear()
})

describe('a cluster with a thread for each broker', { timeout: 60_000 }, () => {
  it('goes on while one of them stands still', async () => {
    await using cluster = await start()
    const orders = cluster.topic('orders')
    await orders.create({ partitions: 1 })
    const leader = (await orders.leader()) as number
    const fenced = whenFenced(cluster, leader)
    const wake = await block(leader)
    const answers: string[] = []
    const blocked = askApiVersions(cluster.broker(leader).port).then(() => answers.push('blocked'))
    // The controller is in this thread, and notices.
    await fenced
    const [other] = cluster.brokers.filter(({ id }) => id !== leader)
    await askApiVersions(other.port)
    answers.push('other')
    await orders.produce({ value: 'a' })
    answers.push('produced')
    wake()
    await blocked
    expect(answers).toEqual(['other', 'produced', 'blocked'])
    expect(await orders.leader()).not.toBe(leader)
    await cluster.settled()
    expect((await orders.isr()).toSorted()).toEqual([1, 2, 3])
    expect(fatal).toEqual([])
  })

  it('counts a thread that dies as a broker that is killed', async () => {
    const lines: string[] = []
    await using cluster = await start({ log: (_, message) => lines.push(message) })
    const orders = cluster.topic('orders')
    await orders.create({ partitions: 1 })
    await orders.produce({ value: 'a' })
    const leader = (await orders.leader()) as number
    die(leader)
    await until(() => cluster.broker(leader).state === 'killed', 'the broker to be gone')
    expect(fatal).toMatchObject([
      { code: 'OTTLA_WORKER_STOPPED', message: expect.stringContaining(`broker ${leader}`) },
    ])
    expect(lines).toContainEqual(expect.stringMatching(/^internal error: the worker thread of broker \d .* planted$/))
    expect(await cluster.timeline()).toContain(`broker ${leader} died: planted`)
    await expect(cluster.broker(leader).describe()).rejects.toMatchObject({ code: 'OTTLA_WORKER_STOPPED' })
    await orders.produce({ value: 'b' })
    await cluster.settled()
    // What it had in memory is lost with it, and comes from the others.
    const { port } = cluster.broker(leader)
    await cluster.broker(leader).restart()
    expect(cluster.broker(leader).port).toBe(port)
    await cluster.settled()
    expect((await orders.isr()).toSorted()).toEqual([1, 2, 3])
    for (const id of [1, 2, 3]) if (id !== leader) await cluster.broker(id).kill()
    await expect(orders).toHaveRecords(['a', 'b'])
  })

  it('ends the thread of a broker that is killed and does not even hear that', async () => {
    await using cluster = await start({ brokers: 2 })
    const orders = cluster.topic('orders')
    await orders.create({ partitions: 1 })
    await orders.produce({ value: 'a' })
    const leader = (await orders.leader()) as number
    const fenced = whenFenced(cluster, leader)
    await block(leader)
    // It is asked, and will never answer: then the next leader is.
    const records = orders.records({ timeoutMs: 30_000 })
    const described = cluster.describe()
    await expect(orders.records({ timeoutMs: 10 })).rejects.toThrow('there is no answer')
    await fenced
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const killed = cluster.broker(leader).kill()
    vi.advanceTimersByTime(10_000)
    vi.useRealTimers()
    await killed
    expect((await records).map(({ value }) => value)).toEqual(['a'])
    expect((await described).brokers[leader - 1]).toMatchObject({ state: 'killed', description: undefined })
    await cluster.broker(leader).restart()
    await cluster.settled()
    expect(cluster.broker(leader).state).toBe('running')
    expect(fatal).toEqual([])
  })

  it('waits for what comes about in other threads alone', async () => {
    await using cluster = await start()
    const orders = cluster.topic('orders')
    await orders.create({ partitions: 1, replicationFactor: 1 })
    const arrived = orders.records({ count: 2 })
    const producer = new Kafka({ brokers: cluster.bootstrapServers.split(','), logLevel: logLevel.NOTHING }).producer()
    await producer.connect()
    for (const value of ['a', 'b']) await producer.send({ topic: 'orders', messages: [{ value }] })
    expect((await arrived).map(({ value }) => value)).toEqual(['a', 'b'])
    await producer.disconnect()
  })

  it('names the records that are lost with an unclean election', async () => {
    await using cluster = await start({ brokers: 2, configs: { 'unclean.leader.election.enable': true } })
    const orders = cluster.topic('orders')
    await orders.create({ partitions: 1, configs: { 'min.insync.replicas': '1' } })
    await orders.produce({ value: 'a' })
    const leader = (await orders.leader()) as number
    const follower = 3 - leader
    await cluster.broker(follower).kill()
    await cluster.settled()
    await orders.produce({ value: 'b' }, { value: 'c' })
    await cluster.broker(leader).kill()
    await cluster.broker(follower).restart()
    await cluster.settled()
    expect(await orders.leader()).toBe(follower)
    const lost = (await cluster.events()).filter(({ type }) => type === 'lost')
    expect(lost).toMatchObject([{ topic: 'orders', partition: 0, from: 1, to: 3, leader: follower }])
  })

  it('is not to be had with a clock that can be moved', async () => {
    await expect(start({ time: 'virtual' })).rejects.toMatchObject({ code: 'OTTLA_INVALID_OPTION' })
  })

  it('leaves no thread when one of them cannot listen', async () => {
    await using cluster = await start({ brokers: 1 })
    const { port } = cluster.broker(1)
    await expect(start({ brokers: 2, port: [0, port] })).rejects.toMatchObject({ code: 'OTTLA_PORT_IN_USE' })
  })
})

function whenFenced(cluster: TestCluster, id: number): Promise<void> {
  return new Promise(resolve => {
    const end = cluster.onEvent(event => {
      if (event.type !== 'broker' || event.broker !== id || event.state !== 'fenced') return
      end()
      resolve()
    })
  })
}
