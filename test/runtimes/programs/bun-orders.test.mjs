/** The fixture and its matchers under Bun's own runner: `bun test`. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'bun:test'
import { matchers, useBroker } from 'ottla/testing'
import { send } from './send.mjs'

expect.extend(matchers)
const kafka = useBroker({ beforeAll, afterAll, beforeEach, afterEach }, { topics: ['orders'], time: 'virtual' })

it('sends again when the acknowledgement is lost', async () => {
  await kafka.broker.fault({ api: 'Produce', topic: 'orders', drop: true, acted: true, times: 1 })
  await send(kafka.broker, 'one book')
  await expect(kafka.broker.topic('orders')).toHaveRecords(['one book', 'one book'])
})

it('begins with an empty topic, and keeps nothing for eight days', async () => {
  await expect(kafka.broker.topic('orders')).toHaveRecords(0)
  await send(kafka.broker, 'two books')
  await kafka.broker.advance('8d')
  await expect(kafka.broker.topic('orders')).toHaveRecords(0)
})
