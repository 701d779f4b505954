/**
 * What the tests of the testing kit share: brokers that end with their test, and kafkajs, quiet and quick, so that what is
 * promised to clients is seen from a client.
 */
import { type Admin, type Consumer, Kafka, logLevel, type Producer } from 'kafkajs'
import { afterEach } from 'vitest'
import {
  type BrokerOptions,
  type ClusterOptions,
  type RunningBroker,
  type RunningCluster,
  startBroker,
  startCluster,
} from '../../src/node/index.ts'

const ends: (() => Promise<unknown>)[] = []
/** What one broker and several have in common. */
export type Running = RunningBroker | RunningCluster
const running: Running[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** Runs `end` when the test is over, the last first. */
export function atEnd(end: () => Promise<unknown>): void {
  ends.push(end)
}

export async function start(options: BrokerOptions = {}): Promise<RunningBroker> {
  return ending(await startBroker({ trace: true, ...options }))
}

/** Three brokers, unless the options say otherwise. */
export async function startThree(options: ClusterOptions = {}): Promise<RunningCluster> {
  return ending(await startCluster({ trace: true, ...options }))
}

function ending<Broker extends Running>(broker: Broker): Broker {
  running.push(broker)
  atEnd(() => {
    running.splice(running.indexOf(broker), 1)
    return broker.close()
  })
  return broker
}

export function kafkaOf(broker: Running, clientId = 'test'): Kafka {
  const retry = { initialRetryTime: 20, maxRetryTime: 100, retries: 30 }
  return new Kafka({ brokers: broker.bootstrapServers.split(','), clientId, logLevel: logLevel.NOTHING, retry })
}

export async function producerOf(broker: Running, clientId = 'producer'): Promise<Producer> {
  const producer = kafkaOf(broker, clientId).producer()
  await producer.connect()
  atEnd(() => producer.disconnect())
  return producer
}

export async function adminOf(broker: Running): Promise<Admin> {
  const admin = kafkaOf(broker, 'admin').admin()
  await admin.connect()
  atEnd(() => admin.disconnect())
  return admin
}

/** A consumer of a group that keeps what it gets. */
export async function consumerOf(
  broker: Running,
  options: { groupId: string; topic: string; clientId?: string; heartbeatInterval?: number },
): Promise<{ consumer: Consumer; values: string[] }> {
  const { groupId, topic, clientId = 'consumer', heartbeatInterval = 200 } = options
  const consumer = kafkaOf(broker, clientId).consumer({ groupId, heartbeatInterval, maxWaitTimeInMs: 100 })
  const values: string[] = []
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message }) => void values.push(String(message.value)) })
  atEnd(() => consumer.disconnect())
  return { consumer, values }
}

/** Waits until `holds` is true. */
export async function until(holds: () => boolean | Promise<boolean>, what: string, timeoutMs = 15_000): Promise<void> {
  const end = performance.now() + timeoutMs
  while (!(await holds())) {
    if (performance.now() > end) {
      const traces = await Promise.all(running.map(broker => broker.trace({ last: 60 })))
      throw new Error(`waited in vain for ${what}; the last requests:\n${traces.join('\n\n')}`)
    }
    await new Promise(resolve => setTimeout(resolve, 10))
  }
}
