/** The service as it is deployed: `KAFKA_BROKERS=localhost:9092 npm start`. */
import { Dispatcher } from './dispatcher.ts'

const bootstrapBrokers = (process.env.KAFKA_BROKERS ?? 'localhost:9092').split(',')
const dispatcher = new Dispatcher({ bootstrapBrokers, log: message => console.log(message) })

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void dispatcher.stop())
await dispatcher.start()
try {
  await dispatcher.done()
} catch (error) {
  console.error(error)
  process.exitCode = 1
  await dispatcher.stop()
}
