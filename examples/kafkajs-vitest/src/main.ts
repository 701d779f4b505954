/** The service as it is deployed: `KAFKA_BROKERS=localhost:9092 npm start`. */
import { Kafka } from 'kafkajs'
import { Billing } from './billing.ts'
import { MemoryLedger } from './ledger.ts'

const brokers = (process.env.KAFKA_BROKERS ?? 'localhost:9092').split(',')
const kafka = new Kafka({ clientId: 'billing', brokers })
const billing = new Billing({
  kafka,
  ledger: new MemoryLedger(),
  onRejected: ({ offset }, { message }) => console.warn(`passed over ${offset}: ${message}`),
  onCrash: error => {
    console.error(error)
    process.exitCode = 1
    void billing.stop()
  },
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void billing.stop())
await billing.start()
