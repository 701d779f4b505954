/** The service as it is deployed: `KAFKA_BROKERS=localhost:9092 DATABASE=shop.db npm start`. */
import { Kafka } from 'kafkajs'
import { buildApp } from './app.ts'
import { openDatabase } from './database.ts'
import { Outbox } from './outbox.ts'
import { Relay } from './relay.ts'

const db = openDatabase(process.env.DATABASE ?? 'shop.db')
const kafka = new Kafka({ clientId: 'shop', brokers: (process.env.KAFKA_BROKERS ?? 'localhost:9092').split(',') })
const relay = new Relay({ kafka, outbox: new Outbox(db), onError: error => console.error(error) })
const app = buildApp({ db, onMessage: () => relay.wake() })

async function stop(): Promise<void> {
  await app.close()
  await relay.stop()
  db.close()
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop())
relay.start()
console.log(await app.listen({ port: Number(process.env.PORT ?? 3000) }))
