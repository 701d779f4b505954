import { BROKER_DEFINITIONS } from './broker-config.ts'
import { SYNONYMS, TOPIC_DEFINITIONS } from './topic-config.ts'

/**
 * The configs that Ottla acts on, each with what it does. All others of Kafka's are accepted, kept and described, so that the
 * same settings work here and there; setting one is told in the log, and docs/differences.md lists them.
 */

const TOPIC_DOCS: Readonly<Record<string, string>> = {
  'cleanup.policy':
    'What happens to old records: `delete` drops them by retention; `compact` asks for keys (cleaning itself is not there yet).',
  'compression.type': 'The codec that batches are stored with; `producer` keeps what was sent.',
  'file.delete.delay.ms': 'How long the file of a deleted segment stays; in memory mode it goes at once.',
  'index.interval.bytes': 'One entry in the offset index per so many bytes.',
  'internal.segment.bytes': 'The size of a segment, below the bound of segment.bytes; for tests.',
  'max.decompressed.message.bytes': 'How large the records of one batch may be when decompressed.',
  'max.message.bytes': 'The largest batch, compressed and with its header.',
  'message.timestamp.after.max.ms': 'How far ahead of the clock a record may be.',
  'message.timestamp.before.max.ms': 'How far behind the clock a record may be.',
  'message.timestamp.type': 'Whether records keep the time of their producer or get that of the append.',
  'min.insync.replicas': 'How many replicas must have a record before it counts, at most as many as there are.',
  'retention.bytes': 'Segments are dropped while the log stays above it; -1 for no limit.',
  'retention.ms': 'Segments are dropped when their newest record is older; -1 for ever.',
  'segment.bytes': 'A segment that would grow beyond it is rolled.',
  'segment.ms': 'A segment is rolled when a record is that much newer than its first.',
}

const BROKER_DOCS: Readonly<Record<string, string>> = {
  'auto.create.topics.enable': 'Whether asking for the metadata of an unknown topic makes it.',
  'broker.id': 'The id of this broker.',
  'broker.rack': 'The rack of this broker, told to clients.',
  'connections.max.idle.ms': 'A connection on which nothing happens for so long is closed.',
  'default.replication.factor': 'Replicas of topics that do not say.',
  'delete.topic.enable': 'Whether topics may be deleted.',
  'fetch.max.bytes': 'The most bytes that a fetch is answered with, but for its first batch.',
  'group.initial.rebalance.delay.ms': 'How long an empty group waits for more members after the first joined.',
  'group.max.session.timeout.ms': 'The longest session timeout that a member may ask for.',
  'group.max.size': 'How many members a group may have.',
  'group.min.session.timeout.ms': 'The shortest session timeout that a member may ask for.',
  'log.retention.check.interval.ms': 'How often retention is applied.',
  'max.connections': 'How many connections there may be; more are closed at once.',
  'max.incremental.fetch.session.cache.slots': 'How many fetch sessions are kept.',
  'max.request.partition.size.limit': 'The most partitions in one page of DescribeTopicPartitions.',
  'node.id': 'The id of this broker.',
  'num.partitions': 'Partitions of topics that do not say.',
  'offset.metadata.max.bytes': 'The longest text that may be committed beside an offset.',
  'offsets.commit.timeout.ms': 'How long a commit waits for its replicas.',
  'offsets.retention.check.interval.ms': 'How often committed offsets are looked over for what has expired.',
  'offsets.retention.minutes': 'How long committed offsets are kept once their group is empty.',
  'offsets.topic.num.partitions': 'Partitions of `__consumer_offsets`.',
  'offsets.topic.replication.factor': 'Replicas of `__consumer_offsets`, at most as many as there are brokers.',
  'offsets.topic.segment.bytes': 'The size of a segment of `__consumer_offsets`.',
  'producer.id.expiration.ms': 'How long a partition remembers an idempotent producer after its last batch.',
  'socket.request.max.bytes': 'The largest request; more closes the connection.',
  'telemetry.max.bytes': 'The most bytes of metrics that a client may push at once.',
}

/** What a config does here, or undefined for one that is not acted on. */
export function topicConfigDoc(name: string): string | undefined {
  return TOPIC_DOCS[name]
}

/** What a broker config does here: one of its own, or the default of a topic config. */
export function brokerConfigDoc(name: string): string | undefined {
  const topicConfig = TOPIC_DEFAULTS.get(name)
  return BROKER_DOCS[name] ?? (topicConfig && `The default of the topic config \`${topicConfig}\`.`)
}

/** Broker config to the topic config whose default it is. */
const TOPIC_DEFAULTS: ReadonlyMap<string, string> = new Map(
  Object.keys(TOPIC_DOCS).flatMap(topic => (SYNONYMS[topic] ?? []).map(([broker]) => [broker, topic] as const)),
)

/** Kafka's configs that are kept and not acted on. */
export function idleConfigs(): { topic: string[]; broker: string[] } {
  return {
    topic: [...TOPIC_DEFINITIONS.keys()].filter(name => topicConfigDoc(name) === undefined),
    broker: [...BROKER_DEFINITIONS.keys()].filter(name => brokerConfigDoc(name) === undefined),
  }
}
