/**
 * How both services speak to Kafka.
 */
import { type KafkaOptions, Transport } from '@nestjs/microservices'

type Options = NonNullable<KafkaOptions['options']>

export interface KafkaSettings {
  readonly brokers: string[]
  readonly client?: Partial<NonNullable<Options['client']>>
  readonly consumer?: Partial<NonNullable<Options['consumer']>>
}

export function settingsFromEnvironment(): KafkaSettings {
  return { brokers: (process.env.KAFKA_BROKERS ?? 'localhost:9092').split(',') }
}

/** The options of a client or of a microservice that is known as `name`. */
export function kafkaOptions(
  name: string,
  { brokers, client, consumer }: KafkaSettings,
): KafkaOptions & { transport: Transport.KAFKA } {
  return {
    transport: Transport.KAFKA,
    options: {
      client: { clientId: name, ...client, brokers },
      consumer: { groupId: name, ...consumer },
      // What has to be sent again is there once.
      producer: { idempotent: true, maxInFlightRequests: 1 },
      subscribe: { fromBeginning: true },
    },
  }
}
