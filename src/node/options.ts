/**
 * The options of `startBroker`, and what becomes of them: checked, with defaults, and plain enough to be sent to a worker
 * thread. Everything that is wrong is found here, before anything was started.
 */
import { BROKER_DEFINITIONS } from '../broker/configs/broker-config.ts'
import type { ConfigDefinition } from '../broker/configs/config-definition.ts'
import { TOPIC_DEFINITIONS } from '../broker/configs/topic-config.ts'
import { type EmulatedRelease, RELEASES } from '../broker/emulate/releases.ts'
import { DEFAULT_LIMITS, type Limits } from '../broker/limits.ts'
import type { LogLevel } from '../util/env.ts'
import { OttlaError } from './errors.ts'
import { LOG_LEVELS, type LogOption } from './log.ts'
import { didYouMean } from './nearest-name.ts'

/** Values of Kafka's configs by Kafka's names. */
export type Configs = Record<string, string | number | boolean>

/** A topic that is to exist once the broker is up. */
export interface TopicOption {
  name: string
  /** How many partitions it has; `num.partitions` by default. */
  partitions?: number
  /** How many brokers have a copy; `default.replication.factor` by default. */
  replicationFactor?: number
  /** Topic configs by Kafka's names. */
  configs?: Configs
}

export interface BrokerOptions {
  /** The port to listen on; 0, the default, takes any that is free. */
  port?: number
  /** The address to listen on; 127.0.0.1 by default, 0.0.0.0 for all. */
  host?: string
  /** How clients are told to reach the broker, as `host:port` or `host`; by default the address it listens on. */
  advertised?: string
  /** Topics to create: `'orders'`, `'orders:12'` with twelve partitions, or an object. */
  topics?: (string | TopicOption)[]
  /**
   * Keeps everything in this directory, which is made if it is not there, and loads what is in it; without it everything is in
   * memory and gone with the broker. One broker at a time has it.
   */
  dataDir?: string
  /**
   * When records are brought to the disk, with a `dataDir`. `os`, the default as it is Kafka's, leaves it to the operating system:
   * what was acknowledged survives the end of the process, however it ends, and not that of the machine. `commit` acknowledges
   * records once they are on the disk (`log.flush.interval.messages=1`). See docs/durability.md.
   */
  flush?: 'os' | 'commit'
  /** Broker configs by Kafka's names; `group.initial.rebalance.delay.ms` is 0 unless given here. */
  configs?: Configs
  /** Where log lines go: a function, a logger like pino, or false. By default warnings go to standard error. */
  log?: LogOption
  /** The least important level that is logged: `info` by default, `warn` without a `log`. */
  logLevel?: LogLevel
  /** Called when Ottla finds a mistake of its own; it is logged in any case. */
  onFatal?: (error: Error) => void
  /** True runs the broker in a worker thread, so that neither holds up the other. */
  worker?: boolean
  /**
   * `virtual` lets `broker.advance('7d')` move the broker's clock, which is the real one plus how far it was moved; `real` by
   * default. The age of a record then counts from when it was appended, whatever its client's clock says.
   */
  time?: 'real' | 'virtual'
  /**
   * True takes members out of their groups as soon as their connections end, so that the next to join need not wait until the
   * session of a client that was stopped or crashed has ended. Kafka does not do so.
   */
  evictDisconnected?: boolean
  /**
   * True keeps what requests and answers say, for `broker.requests()` and `broker.trace()`; without it they tell who asked what
   * and which errors were in the answer.
   */
  trace?: boolean
  /**
   * Tells clients the API versions and features of an earlier Kafka, and serves no others, so that clients speak as they would
   * with it; the release as `'3.9'`. What Ottla does not serve in any version stays away: see docs/emulate.md.
   *
   * @example
   * const broker = await startBroker({ emulate: '2.8' }) // a consumer fetches by topic name: Fetch v12 at the most
   */
  emulate?: EmulatedRelease
  /** Bounds of what the broker takes at the most; see {@link Limits}. */
  limits?: Partial<Limits>
  /**
   * Serves `/metrics` (Prometheus), `/healthz` and `/describe` over HTTP; true takes any free port on loopback. The Host header
   * has to be loopback, the address listened on, or one of `allowedHosts`. With a `token` other processes can drive the
   * broker: see `attachBroker` of `ottla/testing`.
   */
  http?: boolean | { port?: number; host?: string; allowedHosts?: string[]; token?: string }
}

/** An address that clients can be told; the port is the one listened on when it is undefined. */
interface Address {
  host: string
  port: number | undefined
}

/** Options that were checked. They can be cloned into a worker thread. */
export interface CheckedOptions {
  port: number
  host: string
  advertised: Address
  topics: { name: string; partitions?: number; replicationFactor?: number; configs?: Record<string, string> }[]
  /** Undefined in memory. */
  dataDir: string | undefined
  configs: Record<string, string>
  limits: Limits
  virtualTime: boolean
  trace: boolean
  evictDisconnected: boolean
  emulate: EmulatedRelease | undefined
  http: { port: number; host: string; allowedHosts: string[]; token: string | undefined } | undefined
}

const OPTION_NAMES =
  'port host advertised topics dataDir flush configs log logLevel onFatal worker time trace evictDisconnected emulate limits http'.split(
    ' ',
  )
/** Enough to see what a test's clients did; the command keeps none. */
const REQUEST_LOG_SIZE = 10_000

/** Checks everything; throws an {@link OttlaError} for the first thing that is wrong. */
export function checkOptions(options: BrokerOptions): CheckedOptions {
  for (const name of Object.keys(options)) {
    if (!OPTION_NAMES.includes(name)) throw invalid(`unknown option ${name}`, didYouMean(name, OPTION_NAMES))
  }
  const { logLevel } = options
  if (logLevel !== undefined && !LOG_LEVELS.includes(logLevel)) {
    throw invalid(`unknown log level ${logLevel}`, `it is one of ${LOG_LEVELS.join(', ')}`)
  }
  const host = options.host ?? '127.0.0.1'
  if (host === '') throw invalid('the host is empty', 'leave it out to listen on 127.0.0.1')
  return {
    port: checkPort(options.port ?? 0, 'port'),
    host,
    advertised: options.advertised === undefined ? defaultAddress(host) : parseAddress(options.advertised),
    topics: checkTopics(options.topics ?? []),
    dataDir: checkDataDir(options),
    configs: checkConfigs(
      { 'group.initial.rebalance.delay.ms': 0, ...flushConfigs(options), ...options.configs },
      BROKER_DEFINITIONS,
      'broker',
    ),
    limits: checkLimits(options.limits ?? {}),
    trace: options.trace ?? false,
    evictDisconnected: options.evictDisconnected ?? false,
    emulate: checkEmulate(options.emulate),
    virtualTime: checkTime(options.time),
    http: checkHttp(options.http),
  }
}

/** True for the addresses that mean all of a machine's, which no client can connect to from elsewhere. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** An address as text, with the brackets that IPv6 needs before a port. */
export function formatAddress(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

function defaultAddress(host: string): Address {
  const loopback = host === '::' ? '::1' : '127.0.0.1'
  return { host: isWildcard(host) ? loopback : host, port: undefined }
}

function parseAddress(text: string): Address {
  const match = /^(?:\[([^\]]+)\]|([^:[\]\s]+))(?::(\d+))?$/.exec(text)
  if (match === null) throw invalid(`not an address: ${text}`, 'write host:port, and [::1]:port for IPv6')
  const port = match[3] === undefined ? undefined : checkPort(Number(match[3]), 'port of the advertised address')
  return { host: match[1] ?? match[2], port }
}

function checkPort(port: number, what: string): number {
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw invalid(`not a ${what}: ${port}`, 'ports are whole numbers from 0 to 65535, and 0 takes any that is free')
}

function checkTopics(topics: (string | TopicOption)[]): CheckedOptions['topics'] {
  const names = new Set<string>()
  return topics.map(each => {
    const { name, partitions, replicationFactor, configs } = typeof each === 'string' ? parseTopic(each) : each
    if (!/^[a-zA-Z0-9._-]{1,249}$/.test(name) || name === '.' || name === '..') {
      throw invalid(`not a topic name: ${name}`, 'up to 249 letters, digits, dots, underscores and hyphens')
    }
    if (partitions !== undefined && !(Number.isInteger(partitions) && partitions > 0)) {
      throw invalid(`topic ${name} cannot have ${partitions} partitions`, 'it has one or more')
    }
    if (replicationFactor !== undefined && !(Number.isInteger(replicationFactor) && replicationFactor > 0)) {
      throw invalid(`topic ${name} cannot have ${replicationFactor} replicas`, 'it has one or more, on a broker each')
    }
    if (names.has(name)) throw invalid(`topic ${name} is declared twice`)
    names.add(name)
    return {
      name,
      partitions,
      replicationFactor,
      configs: configs && checkConfigs(configs, TOPIC_DEFINITIONS, 'topic'),
    }
  })
}

/** One topic that is to be made. */
export function checkTopic(topic: string | TopicOption): CheckedOptions['topics'][number] {
  return checkTopics([topic])[0]
}

function parseTopic(text: string): TopicOption {
  const [name, count, ...rest] = text.split(':')
  if (count === undefined) return { name }
  if (rest.length > 0 || !/^\d{1,9}$/.test(count)) {
    throw invalid(`not a topic with its number of partitions: ${text}`, 'write it as name:count, such as orders:12')
  }
  return { name, partitions: Number(count) }
}

function checkConfigs(
  configs: Configs,
  definitions: ReadonlyMap<string, ConfigDefinition>,
  kind: 'broker' | 'topic',
): Record<string, string> {
  const checked: Record<string, string> = {}
  for (const [name, given] of Object.entries(configs)) {
    const definition = definitions.get(name)
    if (definition === undefined) {
      throw new OttlaError('OTTLA_UNKNOWN_CONFIG', `unknown ${kind} config ${name}`, {
        hint: didYouMean(name, definitions.keys()),
      })
    }
    const value = String(given)
    const problem = definition.check(value)
    if (problem !== undefined) throw new OttlaError('OTTLA_INVALID_CONFIG', problem)
    checked[name] = value
  }
  return checked
}

function checkDataDir({ dataDir, time }: BrokerOptions): string | undefined {
  if (dataDir === undefined) return undefined
  if (typeof dataDir !== 'string' || dataDir === '')
    throw invalid(`not a directory: ${dataDir}`, 'name one for the data')
  // What was written in a time to come would be there when the clock is back.
  if (time === 'virtual') throw invalid('a data directory goes by the real time', 'leave out time, or dataDir')
  return dataDir
}

function flushConfigs({ flush, dataDir }: BrokerOptions): Configs {
  if (flush === undefined) return {}
  if (flush !== 'os' && flush !== 'commit') throw invalid(`flush cannot be ${flush}`, "it is 'os' or 'commit'")
  if (dataDir === undefined) throw invalid('flush needs a dataDir', 'in memory there is nothing to flush to')
  return flush === 'commit' ? { 'log.flush.interval.messages': 1 } : {}
}

function checkLimits(limits: Partial<Limits>): Limits {
  for (const [name, value] of Object.entries(limits)) {
    if (!(name in DEFAULT_LIMITS)) {
      throw invalid(`unknown limit ${name}`, didYouMean(name, Object.keys(DEFAULT_LIMITS)))
    }
    if (typeof value !== 'number' || !(value >= 0)) throw invalid(`limit ${name} cannot be ${value}`)
  }
  return { ...DEFAULT_LIMITS, requestLogSize: REQUEST_LOG_SIZE, ...limits }
}

function checkTime(time: BrokerOptions['time']): boolean {
  if (time === undefined || time === 'real' || time === 'virtual') return time === 'virtual'
  throw invalid(`time cannot be ${time}`, "it is 'real' or 'virtual'")
}

function checkEmulate(release: EmulatedRelease | undefined): EmulatedRelease | undefined {
  if (release === undefined || Object.hasOwn(RELEASES, release)) return release
  throw invalid(`there is no Kafka ${release} to emulate`, `it is one of ${Object.keys(RELEASES).join(', ')}`)
}

function checkHttp(http: BrokerOptions['http']): CheckedOptions['http'] {
  if (http === undefined || http === false) return undefined
  const { port = 0, host = '127.0.0.1', allowedHosts = [], token } = http === true ? {} : http
  if (token !== undefined && token.length < 16) {
    throw invalid('the token for calls over HTTP is too short', 'take 16 characters or more that nobody guesses')
  }
  const hosts = allowedHosts.map(name => name.toLowerCase())
  return { port: checkPort(port, 'port for HTTP'), host, allowedHosts: hosts, token }
}

export function invalid(message: string, hint?: string): OttlaError {
  return new OttlaError('OTTLA_INVALID_OPTION', message, { hint })
}
