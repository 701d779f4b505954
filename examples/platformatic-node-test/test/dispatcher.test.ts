import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { after, afterEach, before, beforeEach, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { useBroker } from 'ottla/testing'
import { Dispatcher, type DispatcherOptions, GROUP } from '../src/dispatcher.ts'
import { Publisher } from '../src/publisher.ts'
import { WEBHOOKS } from '../src/webhook.ts'
import { Receiver } from './receiver.ts'

const kafka = useBroker(
  { before, after, beforeEach, afterEach },
  {
    // The broker says when something happened, so that its age does not hang on the clocks of publishers.
    topics: [{ name: WEBHOOKS, partitions: 1, configs: { 'message.timestamp.type': 'LogAppendTime' } }],
    time: 'virtual',
  },
)

let receiver: Receiver
const logged: string[] = []
const ends: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  logged.length = 0
  receiver = new Receiver()
  await receiver.listen()
  ends.push(() => receiver.close())
})

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

function openPublisher(): Publisher {
  const { bootstrapServers } = kafka.broker
  const publisher = new Publisher({ bootstrapBrokers: [bootstrapServers], retries: true, retryDelay: 20 })
  ends.push(() => publisher.close())
  return publisher
}

async function startDispatcher(options: Partial<DispatcherOptions> = {}): Promise<Dispatcher> {
  const dispatcher = new Dispatcher({
    bootstrapBrokers: [kafka.broker.bootstrapServers],
    retryDelayMs: 5,
    consumer: { heartbeatInterval: 100, maxWaitTime: 100, retryDelay: 20, retries: 20 },
    log: message => void logged.push(message),
    ...options,
  })
  await dispatcher.start()
  ends.push(() => dispatcher.stop())
  return dispatcher
}

/** Puts webhooks in, past the protocol. */
async function put(...events: string[]): Promise<void> {
  const records = events.map(event => ({ key: 'ada', value: JSON.stringify({ url: receiver.url, event }) }))
  await kafka.broker.topic(WEBHOOKS).produce(...records)
}

it('posts what is published, each with a key of its own', async () => {
  const publisher = openPublisher()
  await publisher.publish('ada', { url: receiver.url, event: 'order.paid' })
  await publisher.publish('ada', { url: receiver.url, event: 'order.sent' })
  await startDispatcher()
  await kafka.broker.group(GROUP).drained()
  assert.deepEqual(receiver.posts, [
    { key: 'webhooks-0-0', event: 'order.paid' },
    { key: 'webhooks-0-1', event: 'order.sent' },
  ])
})

it('tries again while a receiver has trouble, and gives up on one that wants nothing', async () => {
  await put('one', 'two')
  receiver.statuses.push(500, 429, 204, 410)
  await startDispatcher()
  await kafka.broker.group(GROUP).drained()
  assert.deepEqual(
    receiver.posts.map(({ event }) => event),
    ['one', 'one', 'one', 'two'],
  )
  assert.match(logged.join(), /gave up webhooks-0-1: .* answers 410/)
})

it('passes over what is no webhook', async () => {
  await kafka.broker.topic(WEBHOOKS).produce({ value: 'hello' }, { value: '{"url":"nowhere","event":"a"}' })
  await put('one')
  await startDispatcher()
  await kafka.broker.group(GROUP).drained()
  assert.deepEqual(receiver.events, ['one'])
  assert.equal(logged.length, 2)
})

it('publishes once, though the acknowledgement is lost, and waits for a disk that is full', async () => {
  const { broker } = kafka
  const publisher = openPublisher()
  const lost = await broker.fault({ api: 'Produce', topic: WEBHOOKS, drop: true, acted: true, times: 1 })
  await publisher.publish('ada', { url: receiver.url, event: 'one' })
  assert.equal(await lost.count(), 1)

  const full = await broker.diskFull()
  const publishing = publisher.publish('ada', { url: receiver.url, event: 'two' })
  // It was refused, and is tried again.
  await full.met(2)
  await full.end()
  await publishing
  const records = await broker.topic(WEBHOOKS).records()
  assert.deepEqual(
    records.map(({ value }) => JSON.parse(String(value)).event),
    ['one', 'two'],
  )
})

it('loses nothing when the coordinator moves in the middle of the work', async () => {
  const { broker } = kafka
  const events = Array.from({ length: 20 }, (_, index) => `event ${index}`)
  await put(...events.slice(0, 10))
  await startDispatcher()
  await receiver.posted(5)
  const move = await broker.coordinatorMoves(GROUP)
  await put(...events.slice(10))
  await broker.group(GROUP).drained()
  assert.deepEqual(receiver.events, events)
  assert.ok((await move.count()) > 0, 'it was told')
})

it('posts again, under the same key, what it could not commit before it was killed', async () => {
  const { broker } = kafka
  await put('one', 'two', 'three')
  // The service in a process of its own gets no further than the commit of the second.
  const commit = await broker.hold({ api: 'OffsetCommit', group: GROUP, after: 1 })
  const service = spawn(process.execPath, [fileURLToPath(new URL('../src/main.ts', import.meta.url))], {
    env: { ...process.env, KAFKA_BROKERS: broker.bootstrapServers },
    stdio: 'ignore',
  })
  ends.push(async () => service.kill('SIGKILL'))
  await commit.arrived(1)
  service.kill('SIGKILL')
  // The broker does not wait until its session has timed out.
  await broker.group(GROUP).empty()
  await commit.end()

  await startDispatcher()
  await broker.group(GROUP).drained()
  assert.deepEqual(receiver.posts, [
    { key: 'webhooks-0-0', event: 'one' },
    { key: 'webhooks-0-1', event: 'two' },
    { key: 'webhooks-0-1', event: 'two' },
    { key: 'webhooks-0-2', event: 'three' },
  ])
})

it('tells nobody on Monday what was urgent on Thursday', async () => {
  const { broker } = kafka
  await put('urgent')
  await broker.advance('4d')
  await put('new')
  const ahead = (await broker.now()) - Date.now()
  await startDispatcher({ now: () => Date.now() + ahead })
  await broker.group(GROUP).drained()
  assert.deepEqual(receiver.events, ['new'])
  assert.deepEqual(logged, ['passed over webhooks-0-0: too old'])
})
