/**
 * A broker, or a cluster, in the form that Prometheus reads. Names are those that dashboards for Kafka know: the state of topics and groups
 * as the widespread kafka_exporter tells it, traffic as the JMX exporter does.
 */
import type { Gauge, Registry } from 'prom-client'
import type { BrokerCounts } from '../broker/counters.ts'
import type { BrokerDescription, GroupDescription, PartitionDescription, TopicDescription } from '../broker/describe.ts'

type Value = { labels?: Record<string, string | number>; value: number }

/** What one broker tells of itself. */
interface MetricsSource {
  /** Which of several it is: a label of all that it tells. Undefined for one that is alone. */
  readonly broker?: number
  readonly description: BrokerDescription
  readonly counters: BrokerCounts
}

/** What all brokers together know, once, and what each tells of itself. */
export interface MetricsInput {
  readonly topics: readonly TopicDescription[]
  readonly groups: readonly GroupDescription[]
  readonly brokersUp: number
  readonly sources: readonly MetricsSource[]
}

/** One text in the Prometheus exposition format, made anew for each scrape. */
export async function renderMetrics({ topics, groups, brokersUp, sources }: MetricsInput): Promise<string> {
  // Loaded when first asked for: a broker without a scraper does not pay for it at its start.
  const client = await import('prom-client')
  const registry = new client.Registry()
  const add = (name: string, help: string, values: Value[]) => addGauge(client.Gauge, registry, name, help, values)
  add('kafka_brokers', 'Number of brokers in the cluster.', [{ value: brokersUp }])
  addBrokers(add, sources)
  addPartitions(add, topics)
  addLogs(add, sources)
  addGroups(add, groups)
  addTraffic((name, help, values) => addCounter(client.Counter, registry, name, help, values), sources)
  return registry.metrics()
}

type Add = (name: string, help: string, values: Value[]) => void

function labelNames(values: Value[]): string[] {
  return Object.keys(values[0]?.labels ?? {})
}

function addGauge(type: typeof Gauge, registry: Registry, name: string, help: string, values: Value[]): void {
  const gauge = new type({ name, help, labelNames: labelNames(values), registers: [registry] })
  for (const { labels, value } of values) gauge.set(labels ?? {}, value)
}

function addCounter(
  type: typeof import('prom-client').Counter,
  registry: Registry,
  name: string,
  help: string,
  values: Value[],
): void {
  const counter = new type({ name, help, labelNames: labelNames(values), registers: [registry] })
  for (const { labels, value } of values) counter.inc(labels ?? {}, value)
}

function ofBroker({ broker }: MetricsSource): Record<string, number> {
  return broker === undefined ? {} : { broker }
}

function addBrokers(add: Add, sources: readonly MetricsSource[]): void {
  const each = (name: string, help: string, value: (description: BrokerDescription) => number) =>
    add(
      name,
      help,
      sources.map(source => ({ labels: ofBroker(source), value: value(source.description) })),
    )
  each('ottla_connections', 'Connections that are open.', ({ connections }) => connections)
  each('ottla_waiting_requests', 'Requests that wait for bytes or for replicas.', b => b.waitingRequests)
  each('ottla_fetch_sessions', 'Incremental fetch sessions (KIP-227).', ({ fetchSessions }) => fetchSessions)
  each(
    'ottla_storage_used_bytes',
    'Bytes that the logs take.',
    ({ storage }) => storage.totalBytes - storage.usableBytes,
  )
  each('ottla_storage_limit_bytes', 'Bytes that the logs may take.', ({ storage }) => storage.totalBytes)
}

/** Each broker has a log of each partition of which it is a replica. */
function addLogs(add: Add, sources: readonly MetricsSource[]): void {
  const values = sources.flatMap(source =>
    source.description.topics.flatMap(({ name: topic, partitions }) =>
      partitions
        .filter(({ replicas }) => replicas.includes(source.description.brokerId))
        .map(({ partition, sizeInBytes }) => ({
          labels: { ...ofBroker(source), topic, partition },
          value: sizeInBytes,
        })),
    ),
  )
  add('kafka_log_log_size', 'Bytes of the log of a partition.', values)
}

function addPartitions(add: Add, topics: readonly TopicDescription[]): void {
  add(
    'kafka_topic_partitions',
    'Number of partitions of a topic.',
    topics.map(({ name, partitions }) => ({ labels: { topic: name }, value: partitions.length })),
  )
  const each = (name: string, help: string, value: (partition: PartitionDescription) => number) =>
    add(
      name,
      help,
      topics.flatMap(topic =>
        topic.partitions.map(partition => ({
          labels: { topic: topic.name, partition: partition.partition },
          value: value(partition),
        })),
      ),
    )
  each('kafka_topic_partition_current_offset', 'High watermark of a partition.', p => p.highWatermark)
  each('kafka_topic_partition_oldest_offset', 'Log start offset of a partition.', p => p.logStartOffset)
  each('kafka_topic_partition_leader', 'Leader of a partition, -1 for none.', p => p.leader)
  each('kafka_topic_partition_replicas', 'Replicas of a partition.', p => p.replicas.length)
  each('kafka_topic_partition_in_sync_replica', 'In-sync replicas of a partition.', p => p.isr.length)
  each('kafka_topic_partition_under_replicated_partition', '1 when a replica is not in sync.', p =>
    p.isr.length < p.replicas.length ? 1 : 0,
  )
  each('kafka_topic_partition_leader_is_preferred', '1 when the first replica leads.', p =>
    p.leader === p.replicas[0] ? 1 : 0,
  )
}

function addGroups(add: Add, groups: readonly GroupDescription[]): void {
  add(
    'kafka_consumergroup_members',
    'Members of a consumer group.',
    groups.map(({ groupId, members }) => ({ labels: { consumergroup: groupId }, value: members.length })),
  )
  const offsets = groups.flatMap(({ groupId, offsets: committed }) =>
    committed.map(offset => ({
      ...offset,
      labels: { consumergroup: groupId, topic: offset.topic, partition: offset.partition },
    })),
  )
  add(
    'kafka_consumergroup_current_offset',
    'Committed offset of a consumer group.',
    offsets.map(({ labels, committed }) => ({ labels, value: committed })),
  )
  add(
    'kafka_consumergroup_lag',
    'High watermark minus committed offset of a consumer group.',
    offsets.map(({ labels, lag }) => ({ labels, value: lag })),
  )
}

function addTraffic(add: Add, sources: readonly MetricsSource[]): void {
  add(
    'kafka_network_requestmetrics_requests_total',
    'Requests that were answered.',
    sources.flatMap(source =>
      [...source.counters.requests].map(([request, value]) => ({ labels: { ...ofBroker(source), request }, value })),
    ),
  )
  const perTopic = (name: string, help: string, counter: 'messagesIn' | 'bytesIn' | 'bytesOut') =>
    add(
      name,
      help,
      sources.flatMap(source =>
        [...source.counters.topics].map(([topic, counters]) => ({
          labels: { ...ofBroker(source), topic },
          value: counters[counter],
        })),
      ),
    )
  perTopic('kafka_server_brokertopicmetrics_messagesin_total', 'Records that were appended.', 'messagesIn')
  perTopic('kafka_server_brokertopicmetrics_bytesin_total', 'Bytes of record batches that were appended.', 'bytesIn')
  perTopic('kafka_server_brokertopicmetrics_bytesout_total', 'Bytes of record batches that were fetched.', 'bytesOut')
  add(
    'ottla_refused_connections_total',
    'Connections that were closed because of what was sent on them.',
    sources.map(source => ({ labels: ofBroker(source), value: source.counters.refusedConnections })),
  )
}
