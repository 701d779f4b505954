/**
 * The handle of a cluster that runs in this thread: what `startCluster` gives, and what its brokers, links and topics can be asked and told.
 */
import type { BrokerDescription } from '../broker/describe.ts'
import type { RequestFilter, RequestLogRecord } from '../broker/request-log.ts'
import type { BrokerState } from '../cluster/place.ts'
import type { ClusterEvent } from '../cluster/timeline.ts'
import type { AdvanceOptions, BrokerSnapshot } from './broker-methods.ts'
import type { ClusterDescription } from './describe-cluster.ts'
import type { FaultsOnDemand, RequestFaults } from './faults-on-demand.ts'
import type { TopicOption } from './options.ts'

/** One end of a link: a broker by its id, or the controller. */
export type LinkEnd = number | 'controller'

export interface RunningCluster extends FaultsOnDemand, AsyncDisposable {
  /** What Kafka clients take as `bootstrap.servers`: all brokers, with commas between. */
  readonly bootstrapServers: string
  readonly clusterId: string
  /** Where `/metrics`, `/healthz` and `/describe` are, such as `http://127.0.0.1:38080`; undefined unless asked for. */
  readonly http: string | undefined
  /** In the order of their ids, which count from 1. */
  readonly brokers: readonly ClusterBroker[]
  /** @throws OttlaError `OTTLA_INVALID_OPTION` when there is none with that id */
  broker(id: number): ClusterBroker
  /** The link between two brokers, or between a broker and the controller. */
  link(one: LinkEnd, other: LinkEnd): ClusterLink
  /**
   * Parts the network: nobody of one side reaches anybody of another. The controller stays with the last side, unless it is named.
   *
   * @example
   * await cluster.partition([1], [2, 3]) // broker 1 is alone, and goes on until it learns that it does not lead any more
   */
  partition(...sides: readonly LinkEnd[][]): Promise<void>
  /** Ends whatever is wrong with any link. */
  heal(): Promise<void>
  /**
   * Resolves once the cluster has come to rest: who is dead or cut off is fenced, everybody else knows all metadata, every partition has a leader
   * that can have one, and all replicas that can be are in sync.
   *
   * @throws OttlaError `OTTLA_TIMEOUT` when that takes longer than `timeoutMs`, 30 seconds by default; it says what was in the way
   */
  settled(options?: { timeoutMs?: number }): Promise<void>
  /** See `RunningBroker.createTopic`. */
  createTopic(topic: string | TopicOption): Promise<void>
  topic(name: string): ClusterTopic
  /** Every leader and every set of in-sync replicas that changed so far, brokers that came and went, and what was done to the cluster. */
  events(): Promise<readonly ClusterEvent[]>
  /** Calls `listener` for each of these events from now on; the function returned ends that. */
  onEvent(listener: (event: ClusterEvent) => void): () => void
  /** The events as text, a line each, with the seconds since the start. */
  timeline(): Promise<string>
  /**
   * What the cluster has this moment: brokers and whether they run, topics with the offsets of their leaders, groups with members and lag.
   *
   * @throws OttlaError with code `OTTLA_BROKER_CLOSED` once the cluster is closed.
   */
  describe(): Promise<ClusterDescription>
  /** The last requests of all brokers, in the order of their answers. */
  requests(filter?: RequestFilter): Promise<(RequestLogRecord & { readonly broker: number })[]>
  /** The same as text, a line each. */
  trace(filter?: RequestFilter): Promise<string>
  /** What the cluster's clock says, in milliseconds since 1970; see `RunningBroker.now`. */
  now(): Promise<number>
  /** Moves the clock of a cluster that was started with `time: 'virtual'`; see `RunningBroker.advance`. */
  advance(time: number | string, options?: AdvanceOptions): Promise<void>
  /**
   * Puts the cluster back to its beginning, as `RunningBroker.reset` does for one broker: the topics of the options, empty and with new ids, and
   * nothing else. Links are whole, faults ended, and brokers that were killed, stopped or paused run. Connections drop; the timeline begins
   * anew; time that was moved stays moved.
   *
   * @throws OttlaError `OTTLA_WRONG_MODE` for a cluster with a data directory, `OTTLA_BROKER_CLOSED` once the cluster is closed.
   */
  reset(): Promise<void>
  /**
   * Keeps how the cluster is now, to {@link restore} it any number of times. No record is copied; it lives as long as the cluster.
   *
   * @example
   * const seeded = await cluster.snapshot()
   * afterEach(() => cluster.restore(seeded))
   */
  snapshot(): Promise<BrokerSnapshot>
  /**
   * Puts the cluster back to how it was: topics, records, configs, committed offsets, leaders and in-sync replicas. Links are whole, faults ended,
   * and all brokers run, also one that did not then; what it lacked it fetches. The rest is as with `RunningBroker.restore`.
   *
   * @throws OttlaError `OTTLA_INVALID_OPTION` for the snapshot of another cluster, `OTTLA_BROKER_CLOSED` once the cluster is closed.
   */
  restore(snapshot: BrokerSnapshot): Promise<void>
  /** Ends all brokers. May be called again, and does nothing then. */
  close(): Promise<void>
}

/** Its faults end by themselves only with a reset of the cluster: a broker that is started again has them again. */
export interface ClusterBroker extends RequestFaults {
  readonly id: number
  readonly host: string
  /** Stays the same when the broker is started again. */
  readonly port: number
  readonly rack: string | undefined
  readonly state: BrokerState
  /**
   * Ends the broker at once, as `kill -9` does: connections drop, nobody is told. What it had written is there when it is started again; with
   * `powerLoss` what was not flushed is gone, which without a `flush` is nearly everything.
   */
  kill(options?: { powerLoss?: boolean }): Promise<void>
  /** Ends the broker in good order: leadership moves away first. */
  stop(): Promise<void>
  /** Starts the broker again on what it left, on the same port; one that runs is stopped first. Resolves once the cluster has let it in. */
  restart(): Promise<void>
  /** The broker stands still, as with SIGSTOP: connections stay open and nobody answers. */
  pause(): Promise<void>
  resume(): Promise<void>
  /** What the broker has, as far as it knows. */
  describe(): Promise<BrokerDescription>
  /** The last requests that this broker answered since it was started. */
  requests(filter?: RequestFilter): Promise<RequestLogRecord[]>
  /** The same as text, a line each. */
  trace(filter?: RequestFilter): Promise<string>
}

export interface ClusterLink {
  /** Nothing gets through any more, in either direction. */
  cut(): Promise<void>
  /** Everything takes `ms` longer, in each direction. */
  slow(ms: number): Promise<void>
  /** Every message arrives twice. */
  double(): Promise<void>
  heal(): Promise<void>
}

/** A topic as the controller has it. Partition 0 unless another is named. */
export interface ClusterTopic {
  readonly name: string
  /** The leading broker, or undefined when nobody leads. */
  leader(partition?: number): Promise<number | undefined>
  leaderEpoch(partition?: number): Promise<number>
  replicas(partition?: number): Promise<number[]>
  /** The in-sync replicas. */
  isr(partition?: number): Promise<number[]>
  /** Those that may lead though they are not in sync (KIP-966). */
  elr(partition?: number): Promise<number[]>
}
