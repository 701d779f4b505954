import { BROKER_DEFINITIONS } from './broker-config.ts'
import { SYNONYMS, TOPIC_DEFINITIONS } from './topic-config.ts'

/**
 * The configs that Ottla acts on, each with what it does. All others of Kafka's are accepted, kept and described, so that the
 * same settings work here and there; setting one is told in the log, and docs/differences.md lists them.
 */

const TOPIC_DOCS: Readonly<Record<string, string>> = {
  'cleanup.policy':
    'What happens to old records: `delete` drops them by retention; `compact` asks for keys and keeps the last record of each.',
  'compression.type': 'The codec that batches are stored with; `producer` keeps what was sent.',
  'delete.retention.ms': 'How long a tombstone, or the marker of a transaction, stays once the cleaner has seen it.',
  'file.delete.delay.ms': 'How long the file of a deleted segment stays; in memory mode it goes at once.',
  'flush.messages':
    'The log is flushed when so many records are not on the disk yet; with 1 producers and the high watermark wait for it.',
  'flush.ms': 'The log is flushed when a record is not on the disk for so long; no scheduler has to be set for it.',
  'index.interval.bytes': 'One entry in the offset index per so many bytes.',
  'internal.segment.bytes': 'The size of a segment, below the bound of segment.bytes; for tests.',
  'max.compaction.lag.ms':
    'A compacted log with a record that was not cleaned for so long is cleaned, whatever its dirty ratio.',
  'max.decompressed.message.bytes': 'How large the records of one batch may be when decompressed.',
  'max.message.bytes': 'The largest batch, compressed and with its header.',
  'message.timestamp.after.max.ms': 'How far ahead of the clock a record may be.',
  'message.timestamp.before.max.ms': 'How far behind the clock a record may be.',
  'message.timestamp.type': 'Whether records keep the time of their producer or get that of the append.',
  'min.cleanable.dirty.ratio': 'A compacted log is cleaned when more than that part of its bytes was not cleaned yet.',
  'min.compaction.lag.ms': 'The cleaner leaves segments alone that have a younger record.',
  'min.insync.replicas': 'How many replicas must have a record before it counts, at most as many as there are.',
  'retention.bytes': 'Segments are dropped while the log stays above it; -1 for no limit.',
  'retention.ms': 'Segments are dropped when their newest record is older; -1 for ever.',
  'segment.bytes': 'A segment that would grow beyond it is rolled.',
  'segment.ms': 'A segment is rolled when a record is that much newer than its first.',
  'unclean.leader.election.enable':
    'Whether a replica that is not in sync may lead when no other can, at the price of records.',
}

const BROKER_DOCS: Readonly<Record<string, string>> = {
  'auto.create.topics.enable': 'Whether asking for the metadata of an unknown topic makes it.',
  'auto.leader.rebalance.enable': 'Whether leadership goes back to the first replicas from time to time.',
  'broker.heartbeat.interval.ms': 'How often a broker of several tells the controller that it lives.',
  'broker.id': 'The id of this broker.',
  'broker.rack': 'The rack of this broker, told to clients.',
  'broker.session.timeout.ms': 'After how much silence a broker is fenced: others lead then.',
  'connections.max.idle.ms': 'A connection on which nothing happens for so long is closed.',
  'controlled.shutdown.enable': 'Whether a broker that is stopped gives its leaderships away first.',
  'default.replication.factor': 'Replicas of topics that do not say.',
  'delete.topic.enable': 'Whether topics may be deleted.',
  'fetch.max.bytes': 'The most bytes that a fetch is answered with, but for its first batch.',
  'group.initial.rebalance.delay.ms': 'How long an empty group waits for more members after the first joined.',
  'group.max.session.timeout.ms': 'The longest session timeout that a member may ask for.',
  'group.max.size': 'How many members a group may have.',
  'group.min.session.timeout.ms': 'The shortest session timeout that a member may ask for.',
  'leader.imbalance.check.interval.seconds': 'How often leadership goes back to the first replicas.',
  'log.cleaner.backoff.ms':
    'How long the cleaner rests when there is nothing to clean; retention of compacted logs goes by it too.',
  'log.cleaner.dedupe.buffer.size':
    'How many bytes the table of keys may take while a log is cleaned: 24 per key. It is made as large as it has to be.',
  'log.cleaner.enable': 'Whether compacted logs are cleaned.',
  'log.cleaner.io.buffer.load.factor': 'How full the table of keys may become.',
  'log.cleaner.io.max.bytes.per.second': 'How much the cleaner may read and write.',
  'log.cleaner.threads': 'There is one cleaner; 0 stops it.',
  'log.flush.offset.checkpoint.interval.ms':
    'How often logs are brought to the disk and their recovery points written down, from which a start after a crash reads.',
  'log.flush.start.offset.checkpoint.interval.ms':
    'How often log start offsets are written down; DeleteRecords does it at once.',
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
  'replica.fetch.backoff.ms': 'How long a follower waits after a fetch that failed.',
  'replica.fetch.max.bytes': 'The most bytes of one partition that a follower fetches at once, but for one batch.',
  'replica.fetch.min.bytes': 'How many bytes the fetch of a follower waits for.',
  'replica.fetch.response.max.bytes': 'The most bytes that a follower fetches at once, but for one batch.',
  'replica.fetch.wait.max.ms': 'How long the fetch of a follower waits for bytes.',
  'replica.lag.time.max.ms': 'A follower that has not caught up for so long is not in sync any more.',
  'replica.selector.class':
    'The rack-aware selector sends consumers to a replica in their own rack; others are not known.',
  'replica.socket.timeout.ms': 'How long a follower waits for an answer of its leader.',
  'replica.high.watermark.checkpoint.interval.ms': 'How often high watermarks are written down.',
  'socket.request.max.bytes': 'The largest request; more closes the connection.',
  'telemetry.max.bytes': 'The most bytes of metrics that a client may push at once.',
  'unclean.leader.election.interval.ms':
    'How often an unclean election is tried where nobody leads and the topic allows it.',
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
