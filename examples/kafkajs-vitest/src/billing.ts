/**
 * Bills what was ordered. An offset is committed only once its order is in the ledger, so none is lost; whatever is delivered
 * again after a crash or a rebalance is found to be in the ledger already.
 */
import type { Consumer, ConsumerConfig, EachBatchPayload, Kafka, KafkaMessage } from 'kafkajs'
import type { Ledger } from './ledger.ts'
import { ORDERS, readOrder } from './order.ts'

export interface BillingOptions {
  readonly kafka: Kafka
  readonly ledger: Ledger
  /** What a deployment, or a test in a hurry, wants otherwise. */
  readonly consumer?: Partial<ConsumerConfig>
  /** A record that is no order. It is passed over, since it will not become one. */
  onRejected?(message: KafkaMessage, reason: Error): void
  /** The consumer has given up, and the process had better end. */
  onCrash?(error: Error): void
}

export const GROUP = 'billing'

export class Billing {
  readonly #options: BillingOptions
  readonly #consumer: Consumer

  constructor(options: BillingOptions) {
    this.#options = options
    this.#consumer = options.kafka.consumer({ groupId: GROUP, ...options.consumer })
    this.#consumer.on('consumer.crash', ({ payload: { error, restart } }) => {
      if (!restart) options.onCrash?.(error)
    })
  }

  async start(): Promise<void> {
    await this.#consumer.connect()
    await this.#consumer.subscribe({ topic: ORDERS, fromBeginning: true })
    await this.#consumer.run({ eachBatchAutoResolve: false, eachBatch: payload => this.#work(payload) })
  }

  /** Ends after the order at hand; what was billed is committed. */
  async stop(): Promise<void> {
    await this.#consumer.disconnect()
  }

  async #work({ batch, resolveOffset, heartbeat, isRunning, isStale }: EachBatchPayload): Promise<void> {
    for (const message of batch.messages) {
      // After a rebalance the partition may be another's: the rest of the batch is no longer ours.
      if (!isRunning() || isStale()) return
      await this.#bill(message)
      resolveOffset(message.offset)
      // Throws when a rebalance has begun; kafkajs then commits what is resolved, and joins again.
      await heartbeat()
    }
  }

  async #bill(message: KafkaMessage): Promise<void> {
    let order: ReturnType<typeof readOrder>
    try {
      order = readOrder(message.value)
    } catch (error) {
      this.#options.onRejected?.(message, error as Error)
      return
    }
    await this.#options.ledger.bill(order)
  }
}
