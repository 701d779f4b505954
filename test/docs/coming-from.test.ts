import { readFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { json, matchers, type OttlaMatchers, useBroker } from '../../src/testing/index.ts'
import setup from './guide/global-setup.ts'
import { placeOrder, startBilling } from './guide/shop.ts'

/**
 * The code of docs/guides/coming-from.md that is said to work, run: it stands here word for word, and the last test demands that it
 * does.
 */

declare module 'vitest' {
  interface Matchers<T> extends OttlaMatchers {}
}

expect.extend(matchers)
const kafka = useBroker(
  { beforeAll, afterAll, beforeEach, afterEach },
  { topics: ['orders:3', 'invoices'], time: 'virtual' },
)

it('bills an order', async () => {
  const { broker } = kafka
  const billing = await startBilling(broker.bootstrapServers)
  await placeOrder(broker.bootstrapServers, { id: 'o1', customer: 'ada' })
  await expect(broker.topic('invoices', { value: json })).toHaveRecords([{ key: 'ada', value: { order: 'o1' } }])
  await billing.stop()
})

it('announces an order', async () => {
  await placeOrder(kafka.broker.bootstrapServers, { id: 'o1', customer: 'ada' })
  await expect(kafka.broker.topic('orders', { value: json })).toHaveRecords([
    { key: 'ada', value: { id: 'o1', customer: 'ada' } },
  ])
})

it('announces it once, though the acknowledgement is lost', async () => {
  const { broker } = kafka
  await broker.fault({ api: 'Produce', topic: 'orders', drop: true, acted: true, times: 1 })
  await placeOrder(broker.bootstrapServers, { id: 'o1', customer: 'ada' })
  await expect(broker.topic('orders')).toHaveRecords(1)
})

it('bills what nobody else sees', async () => {
  const { broker } = kafka
  const names = { orders: broker.unique('orders'), groupId: broker.unique('billing') }
  await broker.topic(names.orders).create({ partitions: 3 })
  const billing = await startBilling(broker.bootstrapServers, names)
  await placeOrder(broker.bootstrapServers, { id: 'o1', customer: 'ada' }, names)
  await broker.group(names.groupId).drained()
  await billing.stop()
})

it('forgets an order after a week', async () => {
  const { broker } = kafka
  await placeOrder(broker.bootstrapServers, { id: 'o1', customer: 'ada' })
  await broker.advance('8d')
  await expect(broker.topic('orders')).toHaveRecords(0)
})

it('is what the guide shows', async () => {
  const guide = await readFile(new URL('../../docs/guides/coming-from.md', import.meta.url), 'utf8')
  const files = ['./coming-from.test.ts', './guide/global-setup.ts']
  const sources = await Promise.all(files.map(file => readFile(new URL(file, import.meta.url), 'utf8')))
  const code = sources.join('\n').replace(/'[./]+\/src\/testing\/index\.ts'/g, "'ottla/testing'")
  const text = code.replace(/'[./]+\/src\/node\/index\.ts'/g, "'ottla'")
  // What comes before is somebody else's, and cannot be run here.
  const after = [...guide.matchAll(/^After:\n\n```ts\n(.*?)^```$/gms)].map(([, block]) => block)
  expect(after.length).toBe(5)
  const parts = after.flatMap(block => block.split('\n\n')).map(part => part.trim())
  expect(parts.filter(part => !text.includes(part))).toEqual([])
})

it('gives suites that take the address from their environment a broker', async () => {
  const before = process.env.KAFKA_BROKERS
  const teardown = await setup()
  await placeOrder(process.env.KAFKA_BROKERS ?? '', { id: 'o1', customer: 'ada' })
  await teardown()
  if (before === undefined) delete process.env.KAFKA_BROKERS
  else process.env.KAFKA_BROKERS = before
})
