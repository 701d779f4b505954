"""Runs one operation with kafka-python, of old and of new; see driver_io.py for how it is asked and how it answers."""
import kafka
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.structs import OffsetAndMetadata

from driver_io import asked_to_leave, data, emit, lines_to_send, main, text

OLD = kafka.__version__.startswith('2.0.')


def base(options):
    return {'bootstrap_servers': options['bootstrapServers'], 'client_id': options['clientId']}


def consumer_of(options, group, **settings):
    return KafkaConsumer(
        group_id=group,
        session_timeout_ms=options['sessionTimeoutMs'],
        heartbeat_interval_ms=options['heartbeatIntervalMs'],
        **{'enable_auto_commit': False, **base(options), **settings},
    )


def plain(record):
    return {'partition': record.partition, 'offset': record.offset, 'key': text(record.key), 'value': text(record.value)}


def offset_of(offset):
    return OffsetAndMetadata(offset, '') if OLD else OffsetAndMetadata(offset, '', -1)


def poll(consumer):
    # The shorter the time, the likelier that it runs out while a member joins, which 2.3.3 sometimes does not survive.
    return [record for records in consumer.poll(timeout_ms=1000).values() for record in records]


def produce(options):
    settings = {} if OLD else {'enable_idempotence': options.get('idempotent') is True}
    if 'giveUpAfterMs' in options:
        settings['max_block_ms'] = options['giveUpAfterMs']
    producer = KafkaProducer(compression_type=options.get('codec'), acks='all', **base(options), **settings)
    sent = [
        producer.send(
            options['topic'],
            key=data(record['key']),
            value=data(record['value']),
            headers=[(key, data(value)) for key, value in record.get('headers', [])],
        )
        for record in options['records']
    ]
    for future in sent:
        future.get(timeout=20)
    producer.close()


def send_lines(options):
    producer = KafkaProducer(acks='all', retries=20, **base(options))
    for value in lines_to_send():
        producer.send(options['topic'], key=data('k-' + value), value=data(value)).get(timeout=20)
    producer.close()


def take(consumer, count):
    """The first records that come, and not one more; the consumer's position may be further."""
    records = []
    while len(records) < count:
        records += poll(consumer)
    return records[:count]


def read_partition(options):
    consumer = consumer_of(options, None)
    partition = TopicPartition(options['topic'], options['partition'])
    consumer.assign([partition])
    consumer.seek(partition, options['offset'])
    records = take(consumer, options['count'])
    consumer.close()
    return [plain(record) for record in records]


class Announcer(ConsumerRebalanceListener):
    def on_partitions_revoked(self, revoked):
        pass

    def on_partitions_assigned(self, assigned):
        emit('assigned', partitions=[each.partition for each in assigned])


def join(options):
    consumer = consumer_of(
        options,
        options['group'],
        auto_offset_reset=options['reset'],
        enable_auto_commit=True,
        # It asks for a topic that went away only as often as this says.
        metadata_max_age_ms=700,
    )
    consumer.subscribe([options['topic']], listener=Announcer())
    leaving = asked_to_leave()
    while not leaving.is_set():
        for record in poll(consumer):
            emit('record', **plain(record))
    consumer.close()


def consume_and_commit(options):
    consumer = consumer_of(options, options['group'], auto_offset_reset='earliest')
    consumer.subscribe([options['topic']])
    records = take(consumer, options['count'])
    last = records[-1]
    consumer.commit({TopicPartition(options['topic'], last.partition): offset_of(last.offset + 1)})
    consumer.close()
    return [plain(record) for record in records]


def committed_offset(options):
    consumer = consumer_of(options, options['group'])
    offset = consumer.committed(TopicPartition(options['topic'], options['partition']))
    consumer.close()
    return offset


def commit_offset(options):
    consumer = consumer_of(options, options['group'])
    partition = TopicPartition(options['topic'], options['partition'])
    consumer.assign([partition])
    consumer.commit({partition: offset_of(options['offset'])})
    consumer.close()


def with_admin(options, work):
    admin = KafkaAdminClient(**base(options))
    try:
        return work(admin)
    finally:
        admin.close()


def create_topic(options):
    topic = NewTopic(
        name=options['topic'],
        num_partitions=options['partitions'],
        replication_factor=1,
        topic_configs=options['configs'],
    )
    with_admin(options, lambda admin: admin.create_topics([topic]))


def describe_topic(options):
    [found] = with_admin(options, lambda admin: admin.describe_topics([options['topic']]))
    partitions = found['partitions']
    leader = 'leader' if 'leader' in partitions[0] else 'leader_id'
    return {'partitions': len(partitions), 'leaders': [each[leader] for each in partitions]}


def delete_topic(options):
    with_admin(options, lambda admin: admin.delete_topics([options['topic']]))


main({
    'produce': produce,
    'sendLines': send_lines,
    'readPartition': read_partition,
    'join': join,
    'consumeAndCommit': consume_and_commit,
    'committedOffset': committed_offset,
    'commitOffset': commit_offset,
    'createTopic': create_topic,
    'describeTopic': describe_topic,
    'deleteTopic': delete_topic,
})
