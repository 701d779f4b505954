/**
 * A consumer of the orders, somewhere else: ships each once, however often it hears of it.
 */
import type { Consumer, ConsumerConfig, EachMessagePayload, Kafka } from 'kafkajs'
import { ORDERS, type Order } from './app.ts'
import type { Database } from './database.ts'
import { Inbox } from './inbox.ts'
import { MESSAGE_ID } from './relay.ts'

export const GROUP = 'shipping'

export class Shipping {
  readonly #db: Database
  readonly #inbox: Inbox
  readonly #consumer: Consumer

  constructor(kafka: Kafka, db: Database, consumer: Partial<ConsumerConfig> = {}) {
    this.#db = db
    this.#inbox = new Inbox(db)
    this.#consumer = kafka.consumer({ groupId: GROUP, ...consumer })
  }

  async start(): Promise<void> {
    await this.#consumer.connect()
    await this.#consumer.subscribe({ topic: ORDERS, fromBeginning: true })
    await this.#consumer.run({ eachMessage: payload => this.#take(payload) })
  }

  async stop(): Promise<void> {
    await this.#consumer.disconnect()
  }

  async #take({ message, partition }: EachMessagePayload): Promise<void> {
    const id = message.headers?.[MESSAGE_ID] ?? `${partition}-${message.offset}`
    const order: Order = JSON.parse(String(message.value))
    this.#inbox.once(String(id), () => {
      this.#db.prepare('insert into shipments (order_id, customer) values (?, ?)').run(order.id, order.customer)
    })
  }
}
