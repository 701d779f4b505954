/**
 * The broker that the run is pointed at: Ottla, or Apache Kafka to check the steps themselves.
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
  close(): Promise<void>
}

export async function startTarget(): Promise<Target> {
  const target = process.env.OTTLA_TARGET
  if (target === 'kafka') return startKafka()
  if (target) return { name: target, bootstrapServers: target, close: async () => {} }
  return startOttla()
}

async function startOttla(): Promise<Target> {
  const broker = await startBroker({
    configs: { 'group.min.session.timeout.ms': 1000 },
    // All requests of the run, which are some thousands.
    limits: { requestLogSize: 1_000_000 },
  })
  await warmUp(broker.bootstrapServers)
  return {
    name: 'Ottla',
    bootstrapServers: broker.bootstrapServers,
    requests: () => broker.requests(),
    close: () => broker.close(),
  }
}

async function startKafka(): Promise<Target> {
  const directory = scratchPath('kafka')
  const proxy = await startRecordingProxy()
  proxy.upstreamPort = await freePort()
  const settings = [
    'group.min.session.timeout.ms=1000',
    `advertised.listeners=PLAINTEXT://127.0.0.1:${proxy.port}`,
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
