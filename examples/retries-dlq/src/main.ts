/** The service as it is deployed: `KAFKA_BROKERS=localhost:9092 BANK=http://localhost:3001/charge npm start`. */
import { Kafka } from 'kafkajs'
import { type Bank, chargeWith, GROUP, PAYMENTS } from './payments.ts'
import { RetryingConsumer } from './retrying-consumer.ts'

const url = process.env.BANK ?? 'http://localhost:3001/charge'
const bank: Bank = {
  async charge(payment, idempotencyKey) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
      body: JSON.stringify(payment),
      signal: AbortSignal.timeout(5000),
    })
    if (response.status === 404) return 'no such account'
    if (!response.ok) throw new Error(`the bank answers ${response.status}`)
    return 'charged'
  },
}

const kafka = new Kafka({ clientId: 'payments', brokers: (process.env.KAFKA_BROKERS ?? 'localhost:9092').split(',') })
const consumer = new RetryingConsumer({
  kafka,
  groupId: GROUP,
  topic: PAYMENTS,
  handler: chargeWith(bank),
  onCrash: error => {
    console.error(error)
    process.exitCode = 1
    void consumer.stop()
  },
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void consumer.stop())
await consumer.start()
