import type { Broker } from './broker.ts'
import { ask } from './forward.ts'
import { CONSUMER_OFFSETS } from './internal-topics.ts'

/**
 * Topics that nobody created in so many words: those that a Metadata request names while `auto.create.topics.enable` is on,
 * and the broker's own (`DefaultAutoTopicCreationManager`). Creation only begins here; who asked asks again.
 */
export class AutoTopics {
  readonly #broker: Broker
  readonly #underWay = new Set<string>()

  constructor(broker: Broker) {
    this.#broker = broker
  }

  /** Asks the controller for a topic, unless it was asked already and has not answered. */
  create(name: string): void {
    if (this.#underWay.has(name)) return
    this.#underWay.add(name)
    const request = { topics: [this.#definition(name)], timeoutMs: 30_000, validateOnly: false }
    ask('createTopics', request, { broker: this.#broker, apiVersion: 7 }).whenSettled(response => {
      this.#underWay.delete(name)
      const result = response?.topics?.[0]
      if (result?.errorMessage) this.#broker.env.log('warn', `cannot create topic ${name}: ${result.errorMessage}`)
    })
  }

  #definition(name: string) {
    const { config, image } = this.#broker
    if (name !== CONSUMER_OFFSETS) {
      return { name, numPartitions: -1, replicationFactor: -1, assignments: [], configs: [] }
    }
    return {
      name,
      numPartitions: config.number('offsets.topic.num.partitions'),
      // Kafka refuses to make it while there are fewer brokers; a cluster of one has to work out of the box.
      replicationFactor: Math.min(config.number('offsets.topic.replication.factor'), image.brokers.size),
      assignments: [],
      configs: [
        { name: 'compression.type', value: 'producer' },
        { name: 'cleanup.policy', value: 'compact' },
        { name: 'segment.bytes', value: String(config.number('offsets.topic.segment.bytes')) },
      ],
    }
  }
}
