"""Runs one operation with aiokafka; see driver_io.py for how it is asked and how it answers."""
import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import for_code
from aiokafka.structs import OffsetAndMetadata

from driver_io import asked_to_leave, data, emit, lines_to_send, main, text


def base(options):
    return {'bootstrap_servers': options['bootstrapServers'], 'client_id': options['clientId']}


def consumer_of(options, group, **settings):
    return AIOKafkaConsumer(
        group_id=group,
        session_timeout_ms=options['sessionTimeoutMs'],
        heartbeat_interval_ms=options['heartbeatIntervalMs'],
        **{'enable_auto_commit': False, **base(options), **settings},
    )


def plain(record):
    return {'partition': record.partition, 'offset': record.offset, 'key': text(record.key), 'value': text(record.value)}


async def produce(options):
    settings = {'request_timeout_ms': options['giveUpAfterMs']} if 'giveUpAfterMs' in options else {}
    producer = AIOKafkaProducer(
        acks='all',
        enable_idempotence=options.get('idempotent') is True,
        compression_type=options.get('codec'),
        **base(options),
        **settings,
    )
    async with producer:
        sent = [
            await producer.send(
                options['topic'],
                key=data(record['key']),
                value=data(record['value']),
                headers=[(key, data(value)) for key, value in record.get('headers', [])],
            )
            for record in options['records']
        ]
        await asyncio.gather(*sent)


async def send_lines(options):
    lines = lines_to_send()
    async with AIOKafkaProducer(acks='all', **base(options)) as producer:
        while (value := await asyncio.to_thread(next, lines, None)) is not None:
            await producer.send_and_wait(options['topic'], key=data('k-' + value), value=data(value))


async def take(consumer, count):
    return [await consumer.getone() for _ in range(count)]


async def read_partition(options):
    partition = TopicPartition(options['topic'], options['partition'])
    consumer = consumer_of(options, None)
    consumer.assign([partition])
    async with consumer:
        consumer.seek(partition, options['offset'])
        return [plain(record) for record in await take(consumer, options['count'])]


class Announcer(ConsumerRebalanceListener):
    def on_partitions_revoked(self, revoked):
        pass

    def on_partitions_assigned(self, assigned):
        emit('assigned', partitions=[each.partition for each in assigned])


async def join(options):
    consumer = consumer_of(options, options['group'], auto_offset_reset=options['reset'], enable_auto_commit=True)
    consumer.subscribe([options['topic']], listener=Announcer())
    leaving = asked_to_leave()
    async with consumer:
        while not leaving.is_set():
            for records in (await consumer.getmany(timeout_ms=100)).values():
                for record in records:
                    emit('record', **plain(record))


async def consume_and_commit(options):
    consumer = consumer_of(options, options['group'], auto_offset_reset='earliest')
    consumer.subscribe([options['topic']])
    async with consumer:
        records = await take(consumer, options['count'])
        await consumer.commit()
        return [plain(record) for record in records]


async def committed_offset(options):
    async with admin_of(options) as admin:
        offsets = await admin.list_consumer_group_offsets(options['group'])
    return offsets[TopicPartition(options['topic'], options['partition'])].offset


async def commit_offset(options):
    partition = TopicPartition(options['topic'], options['partition'])
    consumer = consumer_of(options, options['group'])
    consumer.assign([partition])
    async with consumer:
        await consumer.commit({partition: OffsetAndMetadata(options['offset'], '')})


class admin_of:
    def __init__(self, options):
        self.admin = AIOKafkaAdminClient(**base(options))

    async def __aenter__(self):
        await self.admin.start()
        return self.admin

    async def __aexit__(self, *_error):
        await self.admin.close()


def raise_for(code, message=''):
    """The admin hands out answers as they are, errors and all."""
    if code != 0:
        raise for_code(code)(message)


async def create_topic(options):
    topic = NewTopic(options['topic'], options['partitions'], 1, topic_configs=options['configs'])
    async with admin_of(options) as admin:
        answer = await admin.create_topics([topic])
    for _, code, message in answer.topic_errors:
        raise_for(code, message)


async def describe_topic(options):
    async with admin_of(options) as admin:
        [found] = await admin.describe_topics([options['topic']])
    partitions = found['partitions']
    return {'partitions': len(partitions), 'leaders': [each['leader'] for each in partitions]}


async def delete_topic(options):
    async with admin_of(options) as admin:
        answer = await admin.delete_topics([options['topic']])
    for _, code in answer.topic_error_codes:
        raise_for(code)


main(
    {
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
    },
    lambda operation, options: asyncio.run(operation(options)),
)
