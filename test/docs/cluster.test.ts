import { readFile } from 'node:fs/promises'
import { Kafka, logLevel } from 'kafkajs'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { startCluster } from '../../src/node/index.ts'
import { matchers, type OttlaMatchers, useCluster } from '../../src/testing/index.ts'
import { placeOrder, startBilling } from './guide/shop.ts'

/**
 * The code of docs/guides/cluster.md, run: it stands here line for line, and the last test demands that it does.
 */

declare module 'vitest' {
  interface Matchers<T> extends OttlaMatchers {}
}

it('begins as the guide begins', async () => {
  const cluster = await startCluster({ brokers: 3, topics: ['orders:3'], configs: { 'min.insync.replicas': 2 } })
  const client = new Kafka({ brokers: cluster.bootstrapServers.split(',') })

  const leader = await cluster.topic('orders').leader(0)
  await cluster.broker(leader!).kill()
  await cluster.settled() // fenced, another leads, nobody lags
  console.log(await cluster.timeline())
  expect(await cluster.timeline()).toMatch(new RegExp(`orders-0 leader ${leader} → \\d \\(epoch 1\\)`))
  client.logger().setLogLevel(logLevel.NOTHING)
  const admin = client.admin()
  await admin.connect()
  expect((await admin.describeCluster()).brokers).toHaveLength(2)
  await admin.disconnect()
  await cluster.close()
})

expect.extend(matchers)
const kafka = useCluster({ beforeAll, afterAll, beforeEach, afterEach }, { brokers: 3, topics: ['orders:1'] })

it('survives the loss of a leader', async () => {
  const { cluster } = kafka
  const orders = cluster.topic('orders')
  await orders.produce({ key: 'ada', value: '{"id":"o1"}' }) // there once all in-sync replicas have it
  await cluster.broker((await orders.leader())!).kill()
  await expect(orders).toHaveRecords(['{"id":"o1"}']) // read from whoever leads next
  const billing = await startBilling(cluster.bootstrapServers)
  await cluster.group('billing').drained({ topic: 'orders' }) // asked of its coordinator
  await billing.stop()
})

it('places an order once, though the acknowledgement is lost', async () => {
  const { cluster } = kafka
  await cluster.fault({ api: 'Produce', topic: 'orders', drop: true, acted: true, times: 1 })
  await placeOrder(cluster.bootstrapServers, { id: 'o1', customer: 'ada' })
  await expect(cluster.topic('orders')).toHaveRecords(1)
})

it('places orders while the disk of one broker is full', async () => {
  const { cluster } = kafka
  const leader = await cluster.topic('orders').leader(0)
  const full = await cluster.broker(leader!).diskFull()
  const placing = placeOrder(cluster.bootstrapServers, { id: 'o1', customer: 'ada' })
  await full.met(1)
  await full.end()
  await placing
  await expect(cluster.topic('orders')).toHaveRecords(1)
})

it('starts each case from the same orders', async () => {
  const { cluster } = kafka
  await placeOrder(cluster.bootstrapServers, { id: 'o1', customer: 'ada' })
  const seeded = await cluster.snapshot()
  await cluster.topic('orders').clear()
  await cluster.broker(1).kill()
  await cluster.restore(seeded)
  await expect(cluster.topic('orders')).toHaveRecords(1)
})

it('is what the guide shows', async () => {
  const [guide, source] = await Promise.all(
    ['../../docs/guides/cluster.md', './cluster.test.ts'].map(path => readFile(new URL(path, import.meta.url), 'utf8')),
  )
  const text = source
    .replace(/'[./]+\/src\/testing\/index\.ts'/g, "'ottla/testing'")
    .replace(/'[./]+\/src\/node\/index\.ts'/g, "'ottla'")
    .replace('type OttlaMatchers, ', '')
  const linesOf = (code: string) =>
    code
      .split('\n')
      .map(line => line.trim())
      .filter(line => line !== '')
  const shown = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => linesOf(block))
  expect(shown.length).toBe(4)
  const lines = new Set(linesOf(text))
  expect(shown.flat().filter(line => !lines.has(line))).toEqual([])
})
