/**
 * Puts webhooks into Kafka. Those for one customer stay in order; the producer is idempotent, so that one which has to be sent
 * again is there once.
 */
import { Producer, type ProducerOptions, stringSerializers } from '@platformatic/kafka'
import { WEBHOOKS, type Webhook } from './webhook.ts'

type Options = Partial<ProducerOptions<string, string, string, string>> & { readonly bootstrapBrokers: string[] }

export class Publisher {
  readonly #producer: Producer<string, string, string, string>

  constructor(options: Options) {
    this.#producer = new Producer({
      clientId: 'webhook-publisher',
      idempotent: true,
      acks: -1,
      ...options,
      serializers: stringSerializers,
    })
  }

  /** Resolves when the webhook is in Kafka. */
  async publish(customer: string, webhook: Webhook): Promise<void> {
    await this.#producer.send({ messages: [{ topic: WEBHOOKS, key: customer, value: JSON.stringify(webhook) }] })
  }

  async close(): Promise<void> {
    await this.#producer.close()
  }
}
