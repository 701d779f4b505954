/** What the tests of a runner have in common: a record sent by kafkajs. */
import { Kafka, logLevel } from 'kafkajs'

export async function send({ bootstrapServers }, value) {
  const producer = new Kafka({ brokers: [bootstrapServers], logLevel: logLevel.NOTHING }).producer()
  await producer.connect()
  await producer.send({ topic: 'orders', messages: [{ value }] })
  await producer.disconnect()
}
