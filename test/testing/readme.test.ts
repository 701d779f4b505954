import { readFile } from 'node:fs/promises'
import { Kafka } from 'kafkajs'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { matchers, type OttlaMatchers, useBroker } from '../../src/testing/index.ts'

declare module 'vitest' {
  interface Matchers<T> extends OttlaMatchers {}
}

/**
 * The example of the README, run: it stands here word for word, and a test demands that it does.
 */
expect.extend(matchers)
const kafka = useBroker({ beforeAll, afterAll, beforeEach, afterEach }, { topics: ['orders:3'], time: 'virtual' })

it('does not lose an order whose acknowledgement was lost', async () => {
  const { broker } = kafka
  // The next record is appended, and the connection breaks before the answer.
  await broker.fault({ api: 'Produce', topic: 'orders', drop: true, acted: true, times: 1 })

  const producer = new Kafka({ brokers: [broker.bootstrapServers] }).producer()
  await producer.connect()
  await producer.send({ topic: 'orders', messages: [{ key: 'a', value: 'one book' }] })
  await producer.disconnect()

  // It was sent again: at least once is not exactly once.
  await expect(broker.topic('orders')).toHaveRecords(['one book', 'one book'])

  await broker.advance('8d') // retention.ms is 7 days, and nobody waits
  await expect(broker.topic('orders')).toHaveRecords(0)
})

it('is what the README shows', async () => {
  const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8')
  const block = readme.split('```ts\n').find(text => text.includes("from 'ottla/testing'")) ?? ''
  const [, example] = /^(expect\.extend[\s\S]*?)\n```/m.exec(block) ?? []
  expect(example).toMatch(/toHaveRecords/)
  expect(await readFile(new URL(import.meta.url), 'utf8')).toContain(example)
})
