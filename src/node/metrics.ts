/**
 * The broker in the form that Prometheus reads. Names are those that dashboards for Kafka know: the state of topics and groups
 * as the widespread kafka_exporter tells it, traffic as the JMX exporter does.
 */
import type { Gauge, Registry } from 'prom-client'
import type { Counters } from '../broker/counters.ts'
import type { BrokerDescription, GroupDescription, PartitionDescription } from '../broker/describe.ts'

type Value = { labels?: Record<string, string | number>; value: number }

/** One text in the Prometheus exposition format, made anew for each scrape. */
export async function renderMetrics(description: BrokerDescription, counters: Counters): Promise<string> {
  // Loaded when first asked for: a broker without a scraper does not pay for it at its start.
  const client = await import('prom-client')
  const registry = new client.Registry()
  const add = (name: string, help: string, values: Value[]) => addGauge(client.Gauge, registry, name, help, values)
  addBroker(add, description)
  addPartitions(add, description)
  addGroups(add, description.groups)
  addTraffic((name, help, values) => addCounter(client.Counter, registry, name, help, values), counters)
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

function addBroker(add: Add, { connections, waitingRequests, fetchSessions, storage }: BrokerDescription): void {
  add('kafka_brokers', 'Number of brokers in the cluster.', [{ value: 1 }])
  add('ottla_connections', 'Connections that are open.', [{ value: connections }])
  add('ottla_waiting_requests', 'Requests that wait for bytes or for replicas.', [{ value: waitingRequests }])
  add('ottla_fetch_sessions', 'Incremental fetch sessions (KIP-227).', [{ value: fetchSessions }])
  add('ottla_storage_used_bytes', 'Bytes that the logs take.', [{ value: storage.totalBytes - storage.usableBytes }])
  add('ottla_storage_limit_bytes', 'Bytes that the logs may take.', [{ value: storage.totalBytes }])
}

function addPartitions(add: Add, { topics }: BrokerDescription): void {
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
  each('kafka_log_log_size', 'Bytes of the log of a partition.', p => p.sizeInBytes)
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

function addTraffic(add: Add, { requests, topics, refusedConnections }: Counters): void {
  add(
    'kafka_network_requestmetrics_requests_total',
    'Requests that were answered.',
    [...requests].map(([request, value]) => ({ labels: { request }, value })),
  )
  const perTopic = [...topics]
  add(
    'kafka_server_brokertopicmetrics_messagesin_total',
    'Records that were appended.',
    perTopic.map(([topic, { messagesIn }]) => ({ labels: { topic }, value: messagesIn })),
  )
  add(
    'kafka_server_brokertopicmetrics_bytesin_total',
    'Bytes of record batches that were appended.',
    perTopic.map(([topic, { bytesIn }]) => ({ labels: { topic }, value: bytesIn })),
  )
  add(
    'kafka_server_brokertopicmetrics_bytesout_total',
    'Bytes of record batches that were fetched.',
    perTopic.map(([topic, { bytesOut }]) => ({ labels: { topic }, value: bytesOut })),
  )
  add('ottla_refused_connections_total', 'Connections that were closed because of what was sent on them.', [
    { value: refusedConnections },
  ])
}
