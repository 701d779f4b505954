/** A data directory: records and committed offsets are there again, and nobody else takes it meanwhile. Prints JSON. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kafka, logLevel } from 'kafkajs'
import { startBroker } from 'ottla'

const dataDir = await mkdtemp(join(tmpdir(), 'ottla-data-'))
const result = {}
const kafkaOf = broker => new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.NOTHING })

async function send(broker, value) {
  const producer = kafkaOf(broker).producer({ idempotent: true })
  await producer.connect()
  await producer.send({ topic: 'orders', messages: [{ value }] })
  await producer.disconnect()
}

/** Takes `count` records, commits behind the last and leaves. */
async function consume(broker, count) {
  const consumer = kafkaOf(broker).consumer({ groupId: 'billing' })
  await consumer.connect()
  await consumer.subscribe({ topic: 'orders', fromBeginning: true })
  const values = []
  await new Promise(resolve => {
    const eachMessage = async ({ message }) => {
      values.push(String(message.value))
      if (values.length === count) resolve()
    }
    void consumer.run({ eachMessage })
  })
  await consumer.disconnect()
  return values
}

try {
  const first = await startBroker({ dataDir, flush: 'commit', topics: ['orders'] })
  await send(first, 'before')
  result.before = await consume(first, 1)
  result.taken = await startBroker({ dataDir }).then(
    broker => broker.close(),
    error => error.code,
  )
  await first.close()
  const second = await startBroker({ dataDir, worker: true })
  await send(second, 'after')
  result.after = await consume(second, 1)
  result.clusterId = second.clusterId === first.clusterId
  await second.close()
  result.kept = (await readdir(dataDir)).includes('orders-0')
} finally {
  await rm(dataDir, { recursive: true, force: true })
}
console.log(JSON.stringify(result))
