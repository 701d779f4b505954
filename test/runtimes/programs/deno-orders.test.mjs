/** The fixture under Deno's own runner, with the hooks of node:test: `deno test`. */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { useBroker } from 'ottla/testing'
import { send } from './send.mjs'

describe('orders', () => {
  const kafka = useBroker({ before, after, beforeEach, afterEach }, { topics: ['orders'], time: 'virtual' })

  it('sends again when the acknowledgement is lost', async () => {
    await kafka.broker.fault({ api: 'Produce', topic: 'orders', drop: true, acted: true, times: 1 })
    await send(kafka.broker, 'one book')
    const records = await kafka.broker.topic('orders').records({ count: 2 })
    assert.deepEqual(
      records.map(({ value }) => value),
      ['one book', 'one book'],
    )
  })

  it('begins with an empty topic, and keeps nothing for eight days', async () => {
    assert.equal((await kafka.broker.topic('orders').records()).length, 0)
    await send(kafka.broker, 'two books')
    await kafka.broker.advance('8d')
    assert.equal((await kafka.broker.topic('orders').records()).length, 0)
  })
})
