import { GroupCoordinator } from '../coordinator/group/group-coordinator.ts'
import type { LogCleaner } from '../log/cleaner/log-cleaner.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import type { Storage } from '../storage/storage.ts'
import type { Env, LogFields } from '../util/env.ts'
import { Later } from '../util/later.ts'
import { LimitedLog } from '../util/limited-log.ts'
import type { Timer } from '../util/timer-queue.ts'
import { HANDLERS } from './apis/index.ts'
import { PUSH_INTERVAL_MS } from './apis/telemetry.ts'
import { AutoTopics } from './auto-topics.ts'
import { brokerConfigDoc, topicConfigDoc } from './configs/acted-on.ts'
import type { BrokerConfig } from './configs/broker-config.ts'
import { groupConfigOf } from './configs/group-config.ts'
import { Connection } from './connection.ts'
import { Counters } from './counters.ts'
import { type EmulatedRelease, handlersOf } from './emulate/releases.ts'
import { Faults, type Interceptor } from './faults/faults.ts'
import { FetchSessions } from './fetch-sessions.ts'
import { GroupLeadership } from './group-leadership.ts'
import type { Handler } from './handler.ts'
import { CONSUMER_OFFSETS } from './internal-topics.ts'
import { BrokerLifecycle } from './lifecycle.ts'
import type { Limits } from './limits.ts'
import type { Link, LinkedBroker, MetadataUpdate, PeerMessageKind, PeerMessages, PreviousBrokerEpoch } from './link.ts'
import { logCleanerOf } from './log-cleaning.ts'
import { MemberConnections } from './member-connections.ts'
import { catchUpRecords } from './metadata/catch-up.ts'
import { MetadataChanges } from './metadata/changes.ts'
import { MetadataImage, RESOURCE_TYPE } from './metadata/image.ts'
import type { AppliedRecord } from './metadata/records.ts'
import type { Partition } from './partition.ts'
import { ProducerIds } from './producer-ids.ts'
import { Purgatory } from './purgatory.ts'
import { ClientQuotas } from './quotas/client-quotas.ts'
import { Replicas } from './replicas.ts'
import { Replication } from './replication/replication.ts'
import { RequestLog } from './request-log.ts'
import type { BrokerConnection, ConnectionPeer, ConnectionSink } from './sink.ts'
import { TelemetryClients } from './telemetry-clients.ts'
import type { Traffic } from './traffic.ts'

/**
 * One broker: what it was told of the cluster, its replicas, its coordinators, its connections. It does no IO; bytes come in
 * by a {@link BrokerConnection} and leave by a {@link ConnectionSink}, records by its storage, and what it wants of the
 * cluster it asks the controller over a {@link Link}.
 */
export interface BrokerOptions {
  readonly id: number
  readonly clusterId: string
  readonly env: Env
  readonly storage: Storage
  readonly platform: RecordsPlatform
  readonly config: BrokerConfig
  readonly limits: Limits
  readonly link: Link
  /** See `LogOptions.forgetProducers`. */
  readonly forgetProducers?: boolean
  /** See `BrokerRegistration.previousBrokerEpoch`. */
  readonly previousBrokerEpoch?: PreviousBrokerEpoch
  /** Takes members out of their groups when their connections end. */
  readonly evictDisconnected?: boolean
  /** Keeps what requests and answers say in the request log. */
  readonly keepsFields?: boolean
  /** Tells and serves what this release of Kafka does, as far as it is served at all. */
  readonly emulates?: EmulatedRelease
  readonly onFatal?: (error: unknown, fields: LogFields) => void
}

export class Broker implements LinkedBroker {
  readonly id: number
  readonly clusterId: string
  readonly emulates: EmulatedRelease | undefined
  readonly env: Env
  readonly platform: RecordsPlatform
  readonly config: BrokerConfig
  readonly limits: Limits
  readonly link: Link
  readonly image = new MetadataImage()
  readonly clientQuotas = new ClientQuotas(this.image.quotas)
  readonly purgatory: Purgatory
  readonly replicas: Replicas
  readonly replication: Replication
  readonly lifecycle: BrokerLifecycle
  readonly groups: GroupCoordinator
  readonly fetchSessions: FetchSessions
  readonly producerIds: ProducerIds
  readonly autoTopics: AutoTopics
  readonly requestLog: RequestLog
  readonly counters = new Counters()
  readonly faults: Faults
  /** What stands between connections and handlers; undefined while no fault is in force. */
  interceptor: Interceptor | undefined
  readonly telemetryClients = new TelemetryClients(PUSH_INTERVAL_MS)
  /** Where it is told what was refused. */
  readonly refusals: LimitedLog
  readonly traffic: Traffic = { received: 0, unsent: 0 }
  /** What is served, by API key, in order. */
  readonly handlers: ReadonlyMap<number, Handler>
  /** Clients choose how many configs they set, and how they are called. */
  readonly #idleConfigs: LimitedLog
  readonly #onFatal: BrokerOptions['onFatal']
  readonly #connections = new Set<Connection>()
  #nextConnectionId = 1
  #offsetsTopic: { topicId: string; partitions: number } | undefined
  readonly #groupLeadership: GroupLeadership
  #metadataOffset = 0
  readonly #cleaner: LogCleaner
  #retentionTimer: Timer | undefined
  #stopped = false

  constructor(options: BrokerOptions) {
    const { env, config } = options
    this.id = options.id
    this.clusterId = options.clusterId
    this.emulates = options.emulates
    this.env = env
    this.platform = options.platform
    this.config = config
    this.limits = options.limits
    this.link = options.link
    this.#onFatal = options.onFatal
    const handlers = options.emulates === undefined ? HANDLERS : handlersOf(HANDLERS, options.emulates)
    this.handlers = new Map(handlers.map(handler => [handler.api.key, handler]))
    this.refusals = new LimitedLog(env, 'warn')
    this.#idleConfigs = new LimitedLog(env, 'warn')
    this.purgatory = new Purgatory(env)
    this.replicas = new Replicas({
      brokerId: this.id,
      env,
      storage: options.storage,
      platform: options.platform,
      image: this.image,
      config,
      purgatory: this.purgatory,
      forgetProducers: options.forgetProducers,
      outlivesProcess: options.link.mayFail || !options.storage.isVolatile,
      askForIsr: partition => this.replication.askForIsr(partition),
      failed: partition => this.#replicaFailed(partition),
      toClean: () => this.#cleaner.wake(),
    })
    this.lifecycle = new BrokerLifecycle({
      brokerId: this.id,
      env,
      config,
      link: this.link,
      metadataOffset: () => this.#metadataOffset,
      previousBrokerEpoch: options.previousBrokerEpoch ?? -1,
    })
    this.replication = new Replication({
      brokerId: this.id,
      brokerEpoch: () => this.brokerEpoch,
      knowsRegistration: () => this.image.brokers.get(this.id)?.brokerEpoch === this.brokerEpoch,
      env,
      config,
      link: this.link,
      replicas: this.replicas,
      purgatory: this.purgatory,
    })
    this.groups = new GroupCoordinator({
      env,
      config: () => groupConfigOf(config),
      topics: this.#topicsView(),
      partitions: () => this.#offsetsPartitions,
    })
    this.#groupLeadership = new GroupLeadership({ env, platform: this.platform, groups: this.groups })
    this.fetchSessions = new FetchSessions(env, () => config.number('max.incremental.fetch.session.cache.slots'))
    this.producerIds = new ProducerIds(env, () =>
      this.link.send('allocateProducerIds', { brokerId: this.id, brokerEpoch: this.brokerEpoch }),
    )
    this.autoTopics = new AutoTopics(this)
    this.faults = new Faults(this, options.evictDisconnected ? new MemberConnections(this) : undefined)
    this.interceptor = this.faults.isNeeded ? this.faults : undefined
    this.requestLog = new RequestLog(options.limits.requestLogSize, options.keepsFields)
    const { storage } = options
    this.#cleaner = logCleanerOf({ env, storage, config, replicas: this.replicas, purgatory: this.purgatory })
    this.replicas.start()
    this.#scheduleRetention()
  }

  /** Tells the controller where this broker listens; settles when the cluster has let it in. */
  register(host: string, port: number): Later<void> {
    return this.lifecycle.start(host, port)
  }

  /** The epoch of its registration, −1 before there is one. */
  get brokerEpoch(): number {
    return this.lifecycle.brokerEpoch
  }

  /** False until the cluster let it in: who acts on what its last process knew cuts other logs. Kafka enables its sockets as late. */
  get isServing(): boolean {
    return !this.link.mayFail || this.lifecycle.up.settled
  }

  /** The largest request, `socket.request.max.bytes`. */
  get maxRequestBytes(): number {
    return this.config.number('socket.request.max.bytes')
  }

  /** Somebody connects. Beyond `max.connections` the sink is closed at once. */
  connect(sink: ConnectionSink, peer: ConnectionPeer): BrokerConnection {
    const connection = new Connection(this.#nextConnectionId++, this, sink, peer)
    this.#connections.add(connection)
    if (this.#stopped || this.#connections.size > this.config.number('max.connections')) {
      this.refusals.log(`refusing a connection from ${peer.host}:${peer.port}: max.connections is reached`)
      connection.close()
    }
    return connection
  }

  /** The offset behind the last metadata record that reached this broker. */
  get metadataOffset(): number {
    return this.#metadataOffset
  }

  /** The id that the next connection gets. */
  get nextConnectionId(): number {
    return this.#nextConnectionId
  }

  get connectionCount(): number {
    return this.#connections.size
  }

  disconnected(connection: Connection): void {
    this.#connections.delete(connection)
    this.purgatory.abandon(connection.id)
    this.interceptor?.disconnected(connection.id)
  }

  /** A mistake of ours was met while serving a request. */
  fatal(error: unknown, fields: LogFields): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.env.log('error', `internal error: ${text}`, fields)
    this.#onFatal?.(error, fields)
  }

  /** The controller says what was committed: the only way in which this broker learns of the cluster. */
  metadata(update: MetadataUpdate): number {
    const { snapshot, startOffset, endOffset, records } = update
    const isBehind = startOffset > this.#metadataOffset
    if (this.#stopped || (isBehind && snapshot === undefined)) return this.#metadataOffset
    const isFirst = this.#metadataOffset === 0
    const changes = new MetadataChanges(this.image)
    if (isBehind) for (const record of catchUpRecords(this.image, snapshot ?? [])) changes.apply(record)
    const known = isBehind ? 0 : this.#metadataOffset - startOffset
    for (const record of records.slice(known)) changes.apply(record)
    this.#metadataOffset = Math.max(this.#metadataOffset, endOffset)
    // While it was away, topics may have been deleted, and replicas moved elsewhere.
    if (isFirst && this.link.mayFail) this.replicas.setStraysAside()
    this.#follow(changes)
    return this.#metadataOffset
  }

  /** Acts on what changed, as it is now: what happened in between, while this broker was away, is past. */
  #follow(changes: MetadataChanges): void {
    for (const removed of changes.removedTopics) {
      // Groups go with the topic that keeps them; whoever waits for one is told before its log is gone.
      if (removed.name === CONSUMER_OFFSETS) {
        for (const { partitionId } of removed.partitions) this.#groupLeadership.resign(partitionId)
      }
      for (const { partitionId } of removed.partitions)
        this.replication.fetchers.remove(`${removed.topicId}-${partitionId}`)
      this.replicas.remove(removed.topicId)
      this.counters.forget(removed.name)
      this.groups.topicsDeleted([{ name: removed.name, topicId: removed.topicId }])
    }
    for (const config of changes.configs) this.#reconfigure(config)
    for (const { topic, image } of changes.partitions()) {
      const partition = this.replicas.update(topic, image)
      if (partition === undefined) continue
      this.replication.fetchers.update(partition)
      this.#groupLeadership.update(partition)
    }
  }

  /** A log failed: nothing is led, followed or coordinated by it any more, and the cluster is told. */
  #replicaFailed(partition: Partition): void {
    this.env.turns.enqueue(() => {
      if (partition.topic === CONSUMER_OFFSETS) this.#groupLeadership.resign(partition.index)
      this.replication.failed(partition)
    })
  }

  /** Another broker has a message. */
  receive<Kind extends PeerMessageKind>(
    kind: Kind,
    request: PeerMessages[Kind]['request'],
  ): Later<PeerMessages[Kind]['reply']> {
    if (this.isServing) return this.replication.receive(kind, request)
    const reply = new Later<PeerMessages[Kind]['reply']>(this.env.turns)
    const ask = () => this.replication.receive(kind, request).whenSettled(answer => reply.settle(answer))
    this.lifecycle.up.whenSettled(ask)
    return reply
  }

  #reconfigure({ resourceType, resourceName, name, value }: AppliedRecord & { type: 'config' }): void {
    if (resourceType === RESOURCE_TYPE.topic) {
      if (value !== null && topicConfigDoc(name) === undefined) this.#warnIdle(`${name} of topic ${resourceName}`)
      return this.replicas.reconfigure(resourceName)
    }
    if (resourceType !== RESOURCE_TYPE.broker) return
    if (value !== null && brokerConfigDoc(name) === undefined) this.#warnIdle(name)
    const own = this.image.configsOf(RESOURCE_TYPE.broker, String(this.id))
    this.config.setDynamic(own, this.image.configsOf(RESOURCE_TYPE.broker, ''))
    this.replicas.reconfigure()
  }

  #warnIdle(what: string): void {
    this.#idleConfigs.log('a config is kept, and not acted on', { config: what })
  }

  /**
   * How many partitions groups are spread over: as many as the topic had when this broker learned of it, whatever the config says by
   * now. Where a group lives does not change while a broker runs.
   */
  get #offsetsPartitions(): number {
    const topic = this.image.topicsByName.get(CONSUMER_OFFSETS)
    if (topic === undefined) return this.config.number('offsets.topic.num.partitions')
    if (this.#offsetsTopic?.topicId !== topic.topicId) {
      this.#offsetsTopic = { topicId: topic.topicId, partitions: topic.partitions.length }
    }
    return this.#offsetsTopic.partitions
  }

  #topicsView() {
    const { image } = this
    return {
      topicByName(name: string) {
        const topic = image.topicsByName.get(name)
        return topic && { topicId: topic.topicId, partitions: topic.partitions.length }
      },
      topicById(topicId: string) {
        const topic = image.topicsById.get(topicId)
        return topic && { name: topic.name, partitions: topic.partitions.length }
      },
    }
  }

  #scheduleRetention(): void {
    this.#retentionTimer = this.env.timer(this.config.number('log.retention.check.interval.ms'), () => {
      this.replicas.applyRetention()
      this.#scheduleRetention()
    })
  }

  /** Ends every connection at once; what waits on one is not answered. */
  dropConnections(): void {
    for (const connection of [...this.#connections]) connection.close()
  }

  /** Ends at once, as a process that is killed: nothing is answered, nothing is written. */
  kill(): void {
    this.#stopped = true
    this.#retentionTimer?.cancel()
    this.#cleaner.halt()
    this.lifecycle.stop()
    this.replication.stop()
    this.replicas.cancel()
    // Nobody notices any more whose connection ends.
    this.interceptor = undefined
    this.dropConnections()
  }

  /** Ends: waiting requests are answered, then every connection is closed. Settles when nothing is left. */
  shutdown(): Later<void> {
    const later = new Later<void>(this.env.turns)
    this.#retentionTimer?.cancel()
    this.#cleaner.stop()
    this.lifecycle.stop()
    this.replication.stop()
    this.replicas.cancel()
    this.faults.endAll()
    this.groups.shutdown()
    this.purgatory.expireAll()
    this.#stopped = true
    // The answers that this frees are sent in turns of their own, before the connections close.
    this.env.turns.enqueue(() => {
      for (const connection of [...this.#connections]) connection.closeOnceAnswered()
      later.settle()
    })
    return later
  }
}
