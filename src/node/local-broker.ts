/**
 * A broker in this thread: clock, storage, codecs, cluster and TCP server put together, and taken apart again in order.
 * The one place where the pure part meets the platform.
 */
import { MemoryCluster, type StandaloneCluster } from '../cluster/index.ts'
import type { StartedBroker } from './broker-handle.ts'
import { OttlaError } from './errors.ts'
import type { HttpControl, HttpEndpoint } from './http.ts'
import { LocalMethods } from './local-methods.ts'
import type { LogFunction } from './log.ts'
import { openCluster } from './open-cluster.ts'
import { type CheckedOptions, formatAddress, isWildcard } from './options.ts'
import type { BrokerFacts } from './running-broker.ts'
import { TcpServer } from './server.ts'
import { SystemEnv } from './system-env.ts'

/** A shutdown in memory that waits longer than this for parked requests goes on without them. A disk gets the time it takes. */
const SHUTDOWN_MS = 250

export async function startLocalBroker(
  options: CheckedOptions,
  log: LogFunction,
  onFatal: (error: Error) => void,
): Promise<StartedBroker> {
  const env = new SystemEnv({
    log,
    virtualTime: options.virtualTime,
    onFatal(error) {
      log('error', `internal error: ${error.stack ?? error.message}`, {})
      onFatal(error)
    },
  })
  try {
    const cluster = await openCluster(options, env, onFatal)
    try {
      return await start(options, env, cluster)
    } catch (error) {
      await env.settled(() => cluster.shutdown())
      throw error
    }
  } catch (error) {
    env.close()
    throw error
  }
}

async function start(options: CheckedOptions, env: SystemEnv, cluster: StandaloneCluster): Promise<StartedBroker> {
  const { advertised } = options
  const server = await TcpServer.listen({
    env,
    acceptor: cluster,
    host: options.host,
    port: options.port,
    maxConnections: () => cluster.broker.config.number('max.connections'),
    listener: port => formatAddress(advertised.host, advertised.port ?? port),
  })
  const port = advertised.port ?? server.port
  const facts = {
    bootstrapServers: formatAddress(advertised.host, port),
    host: advertised.host,
    port: server.port,
    clusterId: cluster.clusterId,
  }
  const methods = new LocalMethods(env, cluster)
  const control: HttpControl = async (request, token) => {
    const { answerControl } = await import('./remote.ts')
    return answerControl(request, token, running)
  }
  const http = await startObserver(options, cluster, control).catch(async error => {
    await server.close()
    throw error
  })
  const running: LocalBroker = new LocalBroker({ ...facts, http: http?.address }, env, cluster, server, {
    http,
    methods,
  })
  const refused = await env.settled(() => cluster.start({ host: advertised.host, port, topics: options.topics }))
  if (refused !== undefined) {
    await running.close()
    throw new OttlaError('OTTLA_INVALID_OPTION', refused.message, { cause: refused })
  }
  env.log('info', 'listening', { ...facts })
  if (isWildcard(options.host) && options.host !== advertised.host) {
    const message = 'clients on other machines are told an address that they cannot reach; advertise another'
    env.log('info', message, { advertised: facts.bootstrapServers })
  }
  return running
}

/** The HTTP side, if it is asked for; its code is loaded only then. */
async function startObserver(
  { http }: CheckedOptions,
  cluster: StandaloneCluster,
  control: HttpControl,
): Promise<HttpEndpoint | undefined> {
  if (http === undefined) return undefined
  const [{ startHttp }, { brokerPages }] = await Promise.all([import('./http.ts'), import('./pages.ts')])
  return startHttp(
    http,
    brokerPages(() => cluster.broker, control),
  )
}

class LocalBroker implements StartedBroker {
  readonly facts: BrokerFacts
  readonly methods: LocalMethods
  readonly #http: HttpEndpoint | undefined
  readonly #env: SystemEnv
  readonly #cluster: StandaloneCluster
  readonly #server: TcpServer

  constructor(
    facts: BrokerFacts,
    env: SystemEnv,
    cluster: StandaloneCluster,
    server: TcpServer,
    { http, methods }: { http: HttpEndpoint | undefined; methods: LocalMethods },
  ) {
    this.facts = facts
    this.methods = methods
    this.#http = http
    this.#env = env
    this.#cluster = cluster
    this.#server = server
  }

  async close(): Promise<void> {
    this.methods.close()
    this.#server.stopAccepting()
    await this.#http?.close()
    await this.#shutDown()
    await this.#server.close()
    this.#env.close()
    this.#env.log('info', 'closed', { bootstrapServers: this.facts.bootstrapServers })
  }

  async #shutDown(): Promise<void> {
    if (!(this.#cluster instanceof MemoryCluster)) return void (await this.#env.settled(() => this.#cluster.shutdown()))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, SHUTDOWN_MS)
    })
    await Promise.race([this.#env.settled(() => this.#cluster.shutdown()), late])
    clearTimeout(timer)
  }
}
