/**
 * The handle of a broker that runs, wherever it does: in this thread (local-broker.ts) or in a worker (worker-broker.ts).
 */
import type { BrokerDescription } from '../broker/describe.ts'
import type { RequestFilter, RequestLogRecord } from '../broker/request-log.ts'
import type { AdvanceOptions, BrokerSnapshot } from './broker-methods.ts'
import type { FaultsOnDemand } from './faults-on-demand.ts'
import type { TopicOption } from './options.ts'

/** What {@link startBroker} gives. Every method is asynchronous, for the broker may run in another thread. */
export interface RunningBroker extends FaultsOnDemand, AsyncDisposable {
  /** What Kafka clients take as `bootstrap.servers`: `host:port` as advertised. */
  readonly bootstrapServers: string
  /** The advertised host. */
  readonly host: string
  /** The port that it listens on. */
  readonly port: number
  readonly clusterId: string
  /** Where `/metrics`, `/healthz` and `/describe` are, such as `http://127.0.0.1:38080`; undefined unless asked for. */
  readonly http: string | undefined
  /**
   * Makes a topic as those of the options are made: `'orders'`, `'orders:12'` with twelve partitions, or an object. One that is there already stays
   * as it is.
   *
   * @throws OttlaError `OTTLA_INVALID_OPTION` for a topic that cannot be, `OTTLA_BROKER_CLOSED` once the broker is closed.
   */
  createTopic(topic: string | TopicOption): Promise<void>
  /**
   * What the broker has this moment: topics with their offsets, groups with their members and lag, connections, room.
   *
   * @throws OttlaError with code `OTTLA_BROKER_CLOSED` once the broker is closed.
   */
  describe(): Promise<BrokerDescription>
  /**
   * The last requests that were answered, the oldest first: API, version, client, the errors in the answer; with
   * `startBroker({ trace: true })` also what was asked and answered. How many are kept is `limits.requestLogSize`.
   *
   * @throws OttlaError with code `OTTLA_BROKER_CLOSED` once the broker is closed.
   */
  requests(filter?: RequestFilter): Promise<RequestLogRecord[]>
  /**
   * The same as text, a line for each request.
   *
   * @example
   * console.log(await broker.trace({ group: 'billing', last: 20 }))
   */
  trace(filter?: RequestFilter): Promise<string>
  /**
   * What the broker's clock says, in milliseconds since 1970. Code under test whose own clock is to move along takes it from here.
   *
   * @throws OttlaError `OTTLA_BROKER_CLOSED` once the broker is closed.
   */
  now(): Promise<number>
  /**
   * Moves the clock of a broker that was started with `time: 'virtual'`: retention, offsets and whatever else becomes due
   * is done in order, each at its time, before this resolves. Clients go on working; members keep their sessions unless
   * `sessions` says otherwise.
   *
   * @param time milliseconds, or text such as `'7d'`, `'1h30m'`, `'250ms'`
   * @throws OttlaError `OTTLA_WRONG_MODE` for a broker in real time, `OTTLA_INVALID_OPTION` for what is no span of time,
   * `OTTLA_BROKER_CLOSED` once the broker is closed.
   *
   * @example
   * const broker = await startBroker({ time: 'virtual', topics: ['orders'] })
   * await broker.advance('8d') // whatever was in orders is gone: retention.ms is 7 days
   */
  advance(time: number | string, options?: AdvanceOptions): Promise<void>
  /**
   * Puts the broker back to its beginning: the topics of the options, empty and with new ids, and nothing else. Connections
   * drop; clients connect again and see a broker that has lost everything, with leader epochs and producer ids that are
   * new to them. Time that was moved stays moved.
   *
   * @throws OttlaError `OTTLA_BROKER_CLOSED` once the broker is closed.
   */
  reset(): Promise<void>
  /**
   * Keeps how the broker is now, to {@link restore} it any number of times. No record is copied; it lives as long as the broker.
   *
   * @example
   * const seeded = await broker.snapshot()
   * afterEach(() => broker.restore(seeded))
   */
  snapshot(): Promise<BrokerSnapshot>
  /**
   * Puts the broker back to how it was: topics, records, configs, committed offsets. Connections drop, leader epochs rise,
   * groups have no members until their clients join again. Idempotent producers that go on are taken with the sequence that
   * they have come to. The age of records counts anew.
   *
   * @throws OttlaError `OTTLA_INVALID_OPTION` for the snapshot of another broker, `OTTLA_BROKER_CLOSED` once the broker is closed.
   */
  restore(snapshot: BrokerSnapshot): Promise<void>
  /**
   * Answers what waits, ends every connection and stops to listen; with a data directory also brings everything to the disk and says
   * there that all is well. Resolves when nothing is left that would keep the process alive. May be called again, and does nothing then.
   */
  close(): Promise<void>
}

/** What is known of a broker once it is up; the part of the handle that can be sent to another thread. */
export interface BrokerFacts {
  bootstrapServers: string
  host: string
  port: number
  clusterId: string
  http: string | undefined
}
