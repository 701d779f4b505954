/**
 * The options of `startCluster`, and what becomes of them: those of a broker, which hold for all, and what only several have.
 */
import type { LogLevel } from '../util/env.ts'
import { type BrokerOptions, type CheckedOptions, checkOptions, invalid } from './options.ts'
import { postedLevel } from './worker-messages.ts'

export interface ClusterOptions extends Omit<BrokerOptions, 'port' | 'advertised' | 'worker' | 'http'> {
  /** How many brokers; 3 by default. Their ids count from 1. */
  brokers?: number
  /** The racks of the brokers, in order; fewer than there are brokers begin again: `['a', 'b']` puts broker 3 into `a`. */
  racks?: string[]
  /** A port for each broker; or the first of as many consecutive ones; any that are free by default. */
  port?: number | number[]
  /** The host by which clients are told to reach the brokers, each on its own port; by default the address they listen on. */
  advertised?: string
  /**
   * Serves `/metrics`, `/healthz` and `/describe` of the whole cluster over HTTP, as for one broker; `/healthz` says which brokers run and what
   * is not replicated, and has the status 503 while a partition has no leader. Nobody can drive a cluster from another process: there is no `token`.
   */
  http?: boolean | { port?: number; host?: string; allowedHosts?: string[] }
  /**
   * True runs each broker in a worker thread of its own, so that none holds up the others or you, and several cores have work. The controller and
   * the network between them stay in your thread. Each gets its part of `limits.memoryBytes`, as threads share no bytes; not with
   * `time: 'virtual'`. False by default.
   */
  workers?: boolean
  /**
   * Broker configs by Kafka's names, for all brokers. Unless given here, `default.replication.factor` is 3 (or as many as there are brokers), and
   * the cluster notices sooner than Kafka's defaults would that a broker is gone.
   */
  configs?: BrokerOptions['configs']
}

/** In a test nobody wants to wait nine seconds for a failover. */
const QUICK_CONFIGS = {
  'broker.heartbeat.interval.ms': 200,
  'broker.session.timeout.ms': 1000,
  'replica.lag.time.max.ms': 2000,
  'replica.fetch.backoff.ms': 100,
  'replica.fetch.wait.max.ms': 100,
} as const

/** Options that were checked. */
export interface CheckedClusterOptions extends Omit<CheckedOptions, 'port'> {
  readonly brokers: { readonly id: number; readonly port: number; readonly rack: string | undefined }[]
  readonly workers: boolean
  /** The least level that brokers in other threads post. */
  readonly postedLevel: LogLevel | undefined
}

const MOST_BROKERS = 100

/** Checks everything; throws an `OttlaError` for the first thing that is wrong. */
export function checkClusterOptions(options: ClusterOptions): CheckedClusterOptions {
  const { brokers: count = 3, racks = [], port = 0, workers = false, ...shared } = options
  if (!Number.isInteger(count) || count < 1 || count > MOST_BROKERS) {
    throw invalid(`there cannot be ${count} brokers`, `from 1 to ${MOST_BROKERS}`)
  }
  if ('worker' in shared) throw invalid('worker is an option of startBroker only', 'write workers: true')
  if (Array.isArray(port) && port.length !== count) {
    throw invalid(`${port.length} ports for ${count} brokers`, 'name one for each, or the first')
  }
  if (workers && shared.time === 'virtual') {
    throw invalid('threads have no clock in common that could be moved', "leave out workers, or time: 'virtual'")
  }
  const portOf = (index: number) => (Array.isArray(port) ? port[index] : port === 0 ? 0 : port + index)
  const configs = { ...QUICK_CONFIGS, 'default.replication.factor': Math.min(3, count), ...shared.configs }
  const brokers = Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    port: checkOptions({ port: portOf(index) }).port,
    rack: racks.length === 0 ? undefined : racks[index % racks.length],
  }))
  const checked = checkOptions({ ...shared, configs })
  if (checked.advertised.port !== undefined) {
    throw invalid('the brokers of a cluster have ports of their own', 'leave the port out of advertised')
  }
  if (checked.http?.token !== undefined) throw invalid('no cluster can be driven over HTTP', 'leave out the token')
  return { ...checked, brokers, workers, postedLevel: postedLevel(options) }
}
