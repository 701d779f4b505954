/** The code under test of docs/guides/coming-from.md: a shop that announces orders, and billing that writes invoices. */
import { type Consumer, Kafka, logLevel, Partitioners } from 'kafkajs'

export interface Order {
  readonly id: string
  readonly customer: string
}

interface Names {
  readonly orders?: string
  readonly groupId?: string
}

function kafkaAt(brokers: string): Kafka {
  return new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING, retry: { initialRetryTime: 20 } })
}

const partitioner = { createPartitioner: Partitioners.DefaultPartitioner }

export async function placeOrder(brokers: string, order: Order, { orders = 'orders' }: Names = {}): Promise<void> {
  const producer = kafkaAt(brokers).producer({ idempotent: true, maxInFlightRequests: 1, ...partitioner })
  await producer.connect()
  await producer.send({ topic: orders, messages: [{ key: order.customer, value: JSON.stringify(order) }] })
  await producer.disconnect()
}

export async function startBilling(brokers: string, names: Names = {}): Promise<{ stop(): Promise<void> }> {
  const { orders = 'orders', groupId = 'billing' } = names
  const producer = kafkaAt(brokers).producer(partitioner)
  const consumer: Consumer = kafkaAt(brokers).consumer({ groupId, heartbeatInterval: 200, maxWaitTimeInMs: 100 })
  await producer.connect()
  await consumer.connect()
  await consumer.subscribe({ topic: orders, fromBeginning: true })
  await consumer.run({
    async eachMessage({ message }) {
      const { id } = JSON.parse(String(message.value))
      await producer.send({ topic: 'invoices', messages: [{ key: message.key, value: JSON.stringify({ order: id }) }] })
    },
  })
  return {
    async stop() {
      await consumer.disconnect()
      await producer.disconnect()
    },
  }
}
