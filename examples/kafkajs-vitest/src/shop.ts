/**
 * Places orders. Those of one customer go to one partition, so that they stay in order; the producer is idempotent, so that one
 * which has to be sent again is there once.
 */
import { type Kafka, Partitioners, type Producer } from 'kafkajs'
import { ORDERS, type Order, writeOrder } from './order.ts'

export class Shop {
  readonly #producer: Producer

  constructor(kafka: Kafka) {
    this.#producer = kafka.producer({
      idempotent: true,
      maxInFlightRequests: 1,
      createPartitioner: Partitioners.DefaultPartitioner,
    })
  }

  async open(): Promise<void> {
    await this.#producer.connect()
  }

  /** Resolves when the order is in Kafka; rejects when nobody can say whether it is. */
  async place(...orders: Order[]): Promise<void> {
    const messages = orders.map(order => ({ key: order.customer, value: writeOrder(order) }))
    await this.#producer.send({ topic: ORDERS, acks: -1, messages })
  }

  async close(): Promise<void> {
    await this.#producer.disconnect()
  }
}
