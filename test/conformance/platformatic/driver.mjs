// Runs one operation with @platformatic/kafka under the Node of this folder; see ../driver-io.mjs for how it is asked
// and how it answers.
import { Admin, Consumer, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka'
import { askedToLeave, emit, keepProducing, linesToSend, main } from '../driver-io.mjs'

function base({ bootstrapServers, clientId }) {
  return { clientId, bootstrapBrokers: bootstrapServers.split(',') }
}

function member(options, groupId) {
  return new Consumer({
    ...base(options),
    groupId,
    deserializers: stringDeserializers,
    sessionTimeout: options.sessionTimeoutMs,
    heartbeatInterval: options.heartbeatIntervalMs,
    rebalanceTimeout: Math.max(5000, options.sessionTimeoutMs),
    maxWaitTime: options.heartbeatIntervalMs,
  })
}

function plain(message) {
  return {
    partition: message.partition,
    offset: Number(message.offset),
    key: message.key ?? null,
    value: message.value ?? null,
  }
}

async function withAdmin(options, work) {
  const admin = new Admin(base(options))
  try {
    return await work(admin)
  } finally {
    await admin.close()
  }
}

async function produce(options) {
  const producer = new Producer({
    ...base(options),
    serializers: stringSerializers,
    autocreateTopics: true,
    // It has no bound in time, only one in tries.
    ...(options.giveUpAfterMs && { retries: 2 }),
    idempotent: options.idempotent === true,
  })
  await producer.send({
    acks: -1,
    compression: options.codec ?? 'none',
    messages: options.records.map(({ key, value, headers }) => ({
      topic: options.topic,
      key,
      value: value ?? undefined,
      headers: new Map(headers ?? []),
    })),
  })
  await producer.close()
}

async function sendLines(options) {
  const producer = new Producer({ ...base(options), serializers: stringSerializers })
  for await (const value of linesToSend()) {
    await producer.send({ acks: -1, messages: [{ topic: options.topic, key: `k-${value}`, value }] })
  }
  await producer.close()
}

// One send for each partition at a time, and no partition shares a send with another: when it tries again, it sends all to
// the leader of the first.
async function keepProducingTo(options) {
  const make = () => new Producer({ ...base(options), serializers: stringSerializers, idempotent: true })
  let producer = make()
  await keepProducing(options, async (partition, values) => {
    const current = producer
    try {
      const messages = values.map(value => ({ topic: options.topic, partition, value }))
      const { offsets } = await current.send({ acks: -1, messages })
      return Number(offsets[0].offset)
    } catch (error) {
      if (producer === current) producer = make()
      throw error
    }
  })
  await producer.close()
}

async function take(stream, count) {
  const records = []
  for await (const message of stream) {
    records.push(message)
    if (records.length === count) break
  }
  return records
}

// This client consumes in groups only, too: a group of one with an explicit offset for every partition, where those
// that nobody asked for start at their end.
async function readPartition(options) {
  const { topic, partition, offset, count } = options
  const consumer = member(options, `${options.clientId}-group`)
  const ends = (await consumer.listOffsets({ topics: [topic] })).get(topic)
  const offsets = ends.map((end, index) => ({
    topic,
    partition: index,
    offset: index === partition ? BigInt(offset) : end,
  }))
  const stream = await consumer.consume({ topics: [topic], mode: 'manual', offsets, autocommit: false })
  const records = await take(stream, count)
  await consumer.close(true)
  return records.map(plain)
}

// It ends when it asks a broker that is gone, or has tried three times: a patient member is a new consumer then.
async function join(options) {
  const leaving = askedToLeave().then(() => 'left')
  for (;;) {
    try {
      return await beMember(options, leaving)
    } catch (error) {
      if (!options.patient) throw error
      process.stderr.write(`begins anew after ${error.message}\n`)
      if ((await Promise.race([leaving, new Promise(resolve => setTimeout(resolve, 500))])) === 'left') return
      emit('anew')
    }
  }
}

async function beMember(options, leaving) {
  const consumer = member(options, options.group)
  consumer.on('consumer:group:join', ({ assignments }) =>
    emit('assigned', {
      partitions: assignments.flatMap(each => (each.topic === options.topic ? each.partitions : [])),
    }),
  )
  try {
    const stream = await consumer.consume({
      topics: [options.topic],
      mode: 'committed',
      fallbackMode: options.reset === 'none' ? 'fail' : options.reset,
      autocommit: 1000,
    })
    // It has asked what is committed, and set its places.
    stream.on('offsets', () => {
      const { partitions = [] } = consumer.assignments?.find(each => each.topic === options.topic) ?? {}
      const placeOf = partition => Number(stream.offsetsToFetch.get(`${options.topic}:${partition}`))
      emit('begins', { places: partitions.map(partition => ({ partition, offset: placeOf(partition) })) })
    })
    stream.on('data', message => emit('record', plain(message)))
    const failed = new Promise((_, reject) => {
      stream.on('error', reject)
      consumer.on('error', reject)
    })
    await Promise.race([leaving, failed])
    await consumer.close(true)
  } catch (error) {
    await consumer.close(true).catch(() => {})
    throw error
  }
}

async function consumeAndCommit(options) {
  const consumer = member(options, options.group)
  const stream = await consumer.consume({
    topics: [options.topic],
    mode: 'committed',
    fallbackMode: 'earliest',
    autocommit: false,
  })
  const records = []
  for await (const message of stream) {
    records.push(message)
    if (records.length < options.count) continue
    await message.commit()
    break
  }
  await consumer.close(true)
  return records.map(plain)
}

async function describeTopic(options) {
  return withAdmin(options, async admin => {
    const metadata = await admin.metadata({ topics: [options.topic] })
    const { partitions } = metadata.topics.get(options.topic)
    return { partitions: partitions.length, leaders: partitions.map(each => each.leader) }
  })
}

async function createTopic(options) {
  const configs = Object.entries(options.configs).map(([name, value]) => ({ name, value }))
  await withAdmin(options, admin =>
    admin.createTopics({ topics: [options.topic], partitions: options.partitions, replicas: 1, configs }),
  )
}

async function committedOffset(options) {
  const groups = [{ groupId: options.group, topics: [{ name: options.topic, partitionIndexes: [options.partition] }] }]
  const [found] = await withAdmin(options, admin => admin.listConsumerGroupOffsets({ groups }))
  return Number(found.topics[0].partitions[0].committedOffset)
}

async function commitOffset({ group, topic, partition, offset, ...options }) {
  const topics = [{ name: topic, partitionOffsets: [{ partition, offset: BigInt(offset) }] }]
  await withAdmin(options, admin => admin.alterConsumerGroupOffsets({ groupId: group, topics }))
}

const deleteTopic = options => withAdmin(options, admin => admin.deleteTopics({ topics: [options.topic] }))

await main({
  produce,
  sendLines,
  keepProducing: keepProducingTo,
  readPartition,
  join,
  consumeAndCommit,
  committedOffset,
  commitOffset,
  createTopic,
  describeTopic,
  deleteTopic,
})
