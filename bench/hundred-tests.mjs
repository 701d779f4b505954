/**
 * A suite of a hundred tests as people write them, for node:test: real kafkajs against a real broker. With `KAFKA_BOOTSTRAP` all share
 * the broker that is there, and each makes a topic and a group of its own; without, `ottla/testing` gives them a broker with the topic,
 * which is put back before each test. testing-kit.mjs runs both and tells what they take.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import kafkajs from 'kafkajs'
import { useBroker } from '../dist/testing/index.js'

const { Kafka, logLevel } = kafkajs
const shared = process.env.KAFKA_BOOTSTRAP
const EACH = Number(process.env.TESTS ?? 100) / 4

const ends = []
let kafka
let topic
let groupId

const use =
  shared === undefined ? useBroker({ before, after, beforeEach, afterEach }, { topics: ['orders:2'] }) : undefined

beforeEach(async () => {
  const retry = { initialRetryTime: 20, maxRetryTime: 200, retries: 50 }
  const brokers = [shared ?? use.broker.bootstrapServers]
  kafka = new Kafka({ brokers, clientId: 'suite', logLevel: logLevel.NOTHING, retry })
  topic = 'orders'
  groupId = 'billing'
  if (shared !== undefined) await takeOwnNames()
})

async function takeOwnNames() {
  topic = `orders-${randomUUID()}`
  groupId = `billing-${randomUUID()}`
  const admin = kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }], waitForLeaders: true })
  await admin.disconnect()
}

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

for (let run = 0; run < EACH; run++) {
  test(`a record comes as it went, ${run}`, async () => {
    await send([{ key: 'ada', value: 'one book', headers: { trace: 't1' } }])
    const { messages } = await consume(1)
    assert.equal(String(messages[0].value), 'one book')
    assert.equal(String(messages[0].headers.trace), 't1')
  })

  test(`a key stays in order, ${run}`, async () => {
    const values = Array.from({ length: 20 }, (_, index) => String(index))
    for (const value of values) await send([{ key: 'ada', value }])
    const { messages } = await consume(20)
    assert.deepEqual(
      messages.map(({ value }) => String(value)),
      values,
    )
  })

  test(`a group goes on where it stopped, ${run}`, async () => {
    await send([{ key: 'ada', value: 'first' }])
    const { consumer } = await consume(1)
    await consumer.disconnect()
    await send([{ key: 'ada', value: 'second' }])
    const { messages } = await consume(1)
    assert.equal(String(messages[0].value), 'second')
  })

  test(`two members share the partitions, ${run}`, async () => {
    const members = await Promise.all([join(), join()])
    await until(() => members.every(({ partitions }) => partitions.length === 1))
    const records = Array.from({ length: 10 }, (_, index) => ({ value: 'x', partition: index % 2 }))
    await send(records)
    await until(() => members.every(({ messages }) => messages.length === 5))
  })
}

async function send(messages) {
  const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner })
  await producer.connect()
  await producer.send({ topic, messages })
  await producer.disconnect()
}

async function join() {
  const consumer = kafka.consumer({ groupId, heartbeatInterval: 50, maxWaitTimeInMs: 50 })
  const member = { consumer, messages: [], partitions: [] }
  consumer.on('consumer.group_join', ({ payload }) => (member.partitions = payload.memberAssignment[topic] ?? []))
  await consumer.connect()
  ends.push(() => consumer.disconnect())
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message }) => void member.messages.push(message) })
  return member
}

async function consume(count) {
  const member = await join()
  await until(() => member.messages.length >= count)
  return member
}

async function until(holds) {
  const end = performance.now() + 30_000
  while (!holds()) {
    if (performance.now() > end) throw new Error('waited in vain')
    await new Promise(resolve => setTimeout(resolve, 2))
  }
}
