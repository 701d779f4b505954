/**
 * The brokers that the run is pointed at: Ottla, or Apache Kafka to check the steps themselves.
 *
 * OTTLA_TARGET=host:port takes a broker that runs already (start it with group.min.session.timeout.ms=1000); it has no
 * request log. OTTLA_TARGET=kafka starts Apache Kafka 4.4 behind a proxy that records the requests. Else it is Ottla.
 */
import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Kafka, logLevel } from 'kafkajs'
import { startBroker } from '../../src/node/index.ts'
import { waitUntil } from './child.ts'
import { startRecordingProxy } from './recording-proxy.ts'
import type { RequestRecord } from './request-log.ts'
import { scratchPath } from './scratch.ts'

const ORACLE = fileURLToPath(new URL('../oracle/kafka', import.meta.url))
const execute = promisify(execFile)

export interface Target {
  name: string
  bootstrapServers: string
  /** The request log so far; absent when the broker keeps none. */
  requests?: () => Promise<RequestRecord[]>
  /** Stops the broker and starts an empty one on the same port, with these topics; absent where that is not possible. */
  restart?: (topics: string[]) => Promise<void>
  close(): Promise<void>
}

/**
 * Starts a broker with these configs besides the run's own.
 *
 * @throws Error when the broker is one that runs already, and configs are asked of it.
 */
export async function startTarget(configs: Record<string, string> = {}): Promise<Target> {
  const target = process.env.OTTLA_TARGET
  if (target === 'kafka') return startKafka(configs)
  if (!target) return startOttla(configs)
  if (Object.keys(configs).length > 0) throw new Error(`${target} runs already, and takes no configs`)
  return { name: target, bootstrapServers: target, close: async () => {} }
}

/** Whether a step that needs configs of its own, or a restart, can be run. */
export const STARTS_BROKERS = ['', 'kafka'].includes(process.env.OTTLA_TARGET ?? '')
/** Apache Kafka keeps what it has over a restart, and takes its time; that step is about a broker in memory. */
export const RESTARTS_BROKERS = !process.env.OTTLA_TARGET

async function startOttla(configs: Record<string, string>): Promise<Target> {
  const start = (port: number, topics: string[]) =>
    startBroker({
      port,
      topics,
      configs: { 'group.min.session.timeout.ms': 1000, ...configs },
      // All requests of the run, which are some thousands.
      limits: { requestLogSize: 1_000_000 },
    })
  let broker = await start(0, [])
  const before: RequestRecord[] = []
  await warmUp(broker.bootstrapServers)
  return {
    name: 'Ottla',
    bootstrapServers: broker.bootstrapServers,
    requests: async () => [...before, ...(await broker.requests())],
    async restart(topics) {
      // Connection numbers start anew as well: those of the first life are made different from all of the second.
      const requests = await broker.requests()
      before.push(...requests.map(record => ({ ...record, connection: -record.connection })))
      const { port } = broker
      await broker.close()
      broker = await start(port, topics)
    },
    close: () => broker.close(),
  }
}

async function startKafka(configs: Record<string, string>): Promise<Target> {
  const proxy = await startRecordingProxy()
  proxy.upstreamPort = await freePort()
  const directory = scratchPath(`kafka-${proxy.port}`)
  const settings = [
    'group.min.session.timeout.ms=1000',
    `advertised.listeners=PLAINTEXT://127.0.0.1:${proxy.port}`,
    ...Object.entries(configs).map(([name, value]) => `${name}=${value}`),
  ].flatMap(setting => ['-c', setting])
  const bootstrapServers = `127.0.0.1:${proxy.port}`
  const close = async () => {
    await proxy.close()
    await execute(ORACLE, ['stop', '--dir', directory])
  }
  try {
    await execute(ORACLE, ['start', '--dir', directory, '--port', String(proxy.upstreamPort), ...settings])
    await warmUp(bootstrapServers)
  } catch (error) {
    await close()
    throw error
  }
  return { name: 'Apache Kafka', bootstrapServers, requests: async () => [...proxy.requests], close }
}

/**
 * A fresh broker answers its first group with an error to retry while it makes __consumer_offsets, and Apache Kafka its
 * first producer too. Whichever client came first would get it, so this comes before all.
 */
async function warmUp(bootstrapServers: string): Promise<void> {
  const kafka = new Kafka({ clientId: 'conformance-warm-up', brokers: [bootstrapServers], logLevel: logLevel.NOTHING })
  const [admin, producer] = [kafka.admin(), kafka.producer({ idempotent: true })]
  await Promise.all([admin.connect(), producer.connect()])
  await waitUntil(
    () =>
      admin.fetchOffsets({ groupId: 'conformance-warm-up' }).then(
        () => true,
        () => false,
      ),
    () => 'the broker has a group coordinator',
  )
  await Promise.all([admin.disconnect(), producer.disconnect()])
}

function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}
