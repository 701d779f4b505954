/** The fixture that gives tests a cluster: what one test breaks, the next finds whole. */

import { Kafka, logLevel } from 'kafkajs'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { useCluster } from '../../src/testing/index.ts'

describe('useCluster', () => {
  const kafka = useCluster({ beforeAll, afterAll, beforeEach, afterEach }, { log: false })

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

it('is not there outside of tests', () => {
  const none = () => {}
  const inUse = useCluster({ beforeAll: none, afterAll: none, beforeEach: none, afterEach: none })
  expect(() => inUse.cluster).toThrow('in tests and hooks only')
})
