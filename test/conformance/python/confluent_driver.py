"""Runs one operation with confluent-kafka, Python over librdkafka; see driver_io.py for how it is asked and answers."""
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from driver_io import asked_to_leave, data, emit, lines_to_send, main, text


def base(options):
    return {'bootstrap.servers': options['bootstrapServers'], 'client.id': options['clientId']}


def consumer_of(options, group, **settings):
    return Consumer({
        **base(options),
        'group.id': group,
        'session.timeout.ms': options['sessionTimeoutMs'],
        'heartbeat.interval.ms': options['heartbeatIntervalMs'],
        'enable.auto.commit': False,
        **{name.replace('_', '.'): value for name, value in settings.items()},
    })


def plain(message):
    return {
        'partition': message.partition(),
        'offset': message.offset(),
        'key': text(message.key()),
        'value': text(message.value()),
    }


def fail(error):
    raise KafkaException(error)


def producer_of(options, settings):
    failed = []
    producer = Producer({**base(options), **settings})

    def delivered(error, _message):
        if error is not None:
            failed.append(error)

    def send(topic, **record):
        producer.produce(topic, on_delivery=delivered, **record)

    def flush():
        producer.flush()
        if failed:
            fail(failed[0])

    return send, flush


def produce(options):
    settings = {'enable.idempotence': options.get('idempotent') is True, 'compression.type': options.get('codec', 'none')}
    if 'giveUpAfterMs' in options:
        settings['topic.metadata.propagation.max.ms'] = options['giveUpAfterMs']
    send, flush = producer_of(options, settings)
    for record in options['records']:
        headers = [(key, data(value)) for key, value in record.get('headers', [])]
        send(options['topic'], key=data(record['key']), value=data(record['value']), headers=headers)
    flush()


def send_lines(options):
    send, flush = producer_of(options, {})
    for value in lines_to_send():
        send(options['topic'], key='k-' + value, value=value)
        flush()


def keep_producing(options):
    producer = Producer({**base(options), 'enable.idempotence': True})

    def told(error, message):
        fields = {'partition': message.partition(), 'value': text(message.value())}
        if error is None:
            emit('acknowledged', offset=message.offset(), **fields)
        else:
            emit('unacknowledged', message=str(error), **fields)

    leaving = asked_to_leave()
    partitions = options['partitions']
    number = 0
    while not leaving.is_set():
        for partition in range(partitions):
            value = '%d:%d' % (partition, number)
            producer.produce(options['topic'], value=value, partition=partition, on_delivery=told)
        number += 1
        producer.poll(0)
        time.sleep(partitions / options['recordsPerSecond'])
    producer.flush()


def take(consumer, count):
    messages = []
    while len(messages) < count:
        message = consumer.poll(0.1)
        if message is None:
            continue
        if message.error():
            fail(message.error())
        messages.append(message)
    return messages


def read_partition(options):
    consumer = consumer_of(options, 'unused')
    consumer.assign([TopicPartition(options['topic'], options['partition'], options['offset'])])
    messages = take(consumer, options['count'])
    consumer.close()
    return [plain(message) for message in messages]


def join(options):
    # librdkafka's word for `none` is `error`.
    reset = 'error' if options['reset'] == 'none' else options['reset']
    consumer = consumer_of(options, options['group'], auto_offset_reset=reset, enable_auto_commit=True)
    consumer.subscribe(
        [options['topic']],
        on_assign=lambda _, partitions: emit('assigned', partitions=[each.partition for each in partitions]),
    )
    leaving = asked_to_leave()
    while not leaving.is_set():
        message = consumer.poll(0.1)
        if message is None:
            continue
        if not message.error():
            emit('record', **plain(message))
        # A topic that is not there may come (back), so this is told, and no end.
        elif message.error().code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            fail(message.error())
    consumer.close()


def consume_and_commit(options):
    consumer = consumer_of(options, options['group'], auto_offset_reset='earliest')
    consumer.subscribe([options['topic']])
    messages = take(consumer, options['count'])
    consumer.commit(message=messages[-1], asynchronous=False)
    consumer.close()
    return [plain(message) for message in messages]


def committed_offset(options):
    consumer = consumer_of(options, options['group'])
    [found] = consumer.committed([TopicPartition(options['topic'], options['partition'])], timeout=10)
    consumer.close()
    return found.offset


def commit_offset(options):
    consumer = consumer_of(options, options['group'])
    partition = TopicPartition(options['topic'], options['partition'], options['offset'])
    [committed] = consumer.commit(offsets=[partition], asynchronous=False)
    if committed.error:
        fail(committed.error)


def create_topic(options):
    admin = AdminClient(base(options))
    topic = NewTopic(options['topic'], options['partitions'], 1, config=options['configs'])
    admin.create_topics([topic])[options['topic']].result()


def describe_topic(options):
    partitions = AdminClient(base(options)).list_topics(options['topic'], timeout=10).topics[options['topic']].partitions
    return {'partitions': len(partitions), 'leaders': [each.leader for each in partitions.values()]}


def delete_topic(options):
    # The admin has to outlive what it promised.
    admin = AdminClient(base(options))
    admin.delete_topics([options['topic']])[options['topic']].result()


main({
    'produce': produce,
    'sendLines': send_lines,
    'keepProducing': keep_producing,
    'readPartition': read_partition,
    'join': join,
    'consumeAndCommit': consume_and_commit,
    'committedOffset': committed_offset,
    'commitOffset': commit_offset,
    'createTopic': create_topic,
    'describeTopic': describe_topic,
    'deleteTopic': delete_topic,
})
