import { GroupCoordinator } from '../coordinator/group/group-coordinator.ts'
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
import { coordinatorLog } from './coordinator-log.ts'
import { Counters } from './counters.ts'
import { type EmulatedRelease, handlersOf } from './emulate/releases.ts'
import { Faults, type Interceptor } from './faults/faults.ts'
import { FetchSessions } from './fetch-sessions.ts'
import type { Handler } from './handler.ts'
import { CONSUMER_OFFSETS } from './internal-topics.ts'
import type { Limits } from './limits.ts'
import type { Link, MetadataListener, MetadataUpdate } from './link.ts'
import { MemberConnections } from './member-connections.ts'
import { MetadataImage, RESOURCE_TYPE } from './metadata/image.ts'
import type { AppliedRecord } from './metadata/records.ts'
import type { Partition } from './partition.ts'
import { ProducerIds } from './producer-ids.ts'
import { Purgatory } from './purgatory.ts'
import { ClientQuotas } from './quotas/client-quotas.ts'
import { Replicas } from './replicas.ts'
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
  /** Takes members out of their groups when their connections end. */
  readonly evictDisconnected?: boolean
  /** Keeps what requests and answers say in the request log. */
  readonly keepsFields?: boolean
  /** Tells and serves what this release of Kafka does, as far as it is served at all. */
  readonly emulates?: EmulatedRelease
  readonly onFatal?: (error: unknown, fields: LogFields) => void
}

export class Broker implements MetadataListener {
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
  #brokerEpoch = -1
  #metadataOffset = 0
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
    })
    this.groups = new GroupCoordinator({
      env,
      config: () => groupConfigOf(config),
      topics: this.#topicsView(),
      partitions: config.number('offsets.topic.num.partitions'),
    })
    this.fetchSessions = new FetchSessions(env, () => config.number('max.incremental.fetch.session.cache.slots'))
    this.producerIds = new ProducerIds(env, () =>
      this.link.send('allocateProducerIds', { brokerId: this.id, brokerEpoch: this.#brokerEpoch }),
    )
    this.autoTopics = new AutoTopics(this)
    this.faults = new Faults(this, options.evictDisconnected ? new MemberConnections(this) : undefined)
    this.interceptor = this.faults.isNeeded ? this.faults : undefined
    this.requestLog = new RequestLog(options.limits.requestLogSize, options.keepsFields)
    this.#scheduleRetention()
  }

  /** Tells the controller where this broker listens; settles when the cluster knows it. */
  register(host: string, port: number): Later<void> {
    const rack = this.config.text('broker.rack') ?? null
    const registered = new Later<void>(this.env.turns)
    this.link.send('registerBroker', { brokerId: this.id, host, port, rack }).whenSettled(({ brokerEpoch }) => {
      this.#brokerEpoch = brokerEpoch
      registered.settle()
    })
    return registered
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
  metadata(update: MetadataUpdate): void {
    if (this.#stopped) return
    for (const record of update.records) this.#apply(record)
    this.#metadataOffset = update.endOffset
  }

  #apply(record: AppliedRecord): void {
    const removed = record.type === 'removeTopic' ? this.image.topicsById.get(record.topicId) : undefined
    this.image.apply(record)
    if (record.type === 'partition') {
      const topic = this.image.topicsById.get(record.topicId)
      const partition = topic && this.replicas.update(topic, record)
      if (partition !== undefined) this.#elect(partition)
    } else if (record.type === 'config') {
      this.#reconfigure(record)
    } else if (removed !== undefined) {
      // Groups go with the topic that keeps them; whoever waits for one is told before its log is gone.
      if (removed.name === CONSUMER_OFFSETS)
        for (const { partitionId } of removed.partitions) this.groups.resigned(partitionId)
      this.replicas.remove(removed.topicId)
      this.counters.forget(removed.name)
      this.groups.topicsDeleted([{ name: removed.name, topicId: removed.topicId }])
    }
  }

  /** Coordinators live where their partition is led. */
  #elect(partition: Partition): void {
    if (partition.topic !== CONSUMER_OFFSETS) return
    if (partition.isLeader) this.groups.elected(partition.index, coordinatorLog(partition, this.platform))
    else this.groups.resigned(partition.index)
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
      this.replicas.applyRetention(this.env.now())
      this.#scheduleRetention()
    })
  }

  /** Ends every connection at once; what waits on one is not answered. */
  dropConnections(): void {
    for (const connection of [...this.#connections]) connection.close()
  }

  /** Ends: waiting requests are answered, then every connection is closed. Settles when nothing is left. */
  shutdown(): Later<void> {
    const later = new Later<void>(this.env.turns)
    this.#retentionTimer?.cancel()
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
