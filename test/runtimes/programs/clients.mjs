/**
 * A broker with its HTTP side, and kafkajs as its client, all in the runtime that runs this: `clients.mjs [worker]`. Values of
 * nearly a megabyte make the sockets stop and go on. Prints what came of it as JSON.
 */
import { createHash, randomBytes } from 'node:crypto'
import { Kafka, logLevel } from 'kafkajs'
import { startBroker } from 'ottla'

const broker = await startBroker({ topics: ['orders:2'], worker: process.argv[2] === 'worker', http: true })
const kafka = new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.NOTHING })
const digest = value => createHash('sha256').update(value).digest('hex')

const sent = []
async function produce(options, compression) {
  const producer = kafka.producer(options)
  await producer.connect()
  for (let index = 0; index < 6; index++) {
    const value = randomBytes(500_000)
    sent.push(digest(value))
    await producer.send({ topic: 'orders', compression, messages: [{ partition: index % 2, value }] })
  }
  await producer.disconnect()
}
const GZIP = 1
await Promise.all([produce({ idempotent: true }), produce({}, GZIP), produce({}), produce({})])

const consumer = kafka.consumer({ groupId: 'billing' })
await consumer.connect()
await consumer.subscribe({ topic: 'orders', fromBeginning: true })
const received = []
await new Promise(resolve => {
  const eachMessage = async ({ message }) => {
    received.push(digest(message.value))
    if (received.length === sent.length) resolve()
  }
  void consumer.run({ partitionsConsumedConcurrently: 2, eachMessage })
})
await consumer.disconnect()

const { topics, groups } = await broker.describe()
const orders = topics.find(topic => topic.name === 'orders')
const metrics = await (await fetch(`${broker.http}/metrics`)).text()
const result = {
  received: received.length,
  same: received.sort().join() === sent.sort().join(),
  ends: orders.partitions.map(partition => partition.logEndOffset),
  committed: groups.find(group => group.groupId === 'billing').offsets.map(offset => offset.committed),
  healthy: (await fetch(`${broker.http}/healthz`)).status,
  metrics: /^kafka_\w+/m.test(metrics),
  produced: (await broker.requests({ api: 'Produce' })).length,
}
await broker.close()
result.closed = await broker.requests().catch(error => error.code)
console.log(JSON.stringify(result))
