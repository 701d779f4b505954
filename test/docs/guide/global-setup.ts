/** The smallest step of docs/guides/coming-from.md, as it stands there. */
import { startBroker } from '../../../src/node/index.ts'

export default async function setup() {
  const broker = await startBroker()
  process.env.KAFKA_BROKERS = broker.bootstrapServers
  return () => broker.close()
}
