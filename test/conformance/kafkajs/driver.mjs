// Runs one operation with kafkajs; see ../driver-io.mjs for how it is asked and how it answers.
import { CompressionTypes, Kafka } from 'kafkajs'
import { askedToLeave, emit, keepProducing, linesToSend, main } from '../driver-io.mjs'

const CODECS = { gzip: CompressionTypes.GZIP }

function connect({ bootstrapServers, clientId }) {
  // The client's own log goes to standard error, because standard output is ours.
  const logCreator = () => entry =>
    process.stderr.write(`${entry.label} ${entry.log.message} ${entry.log.error ?? ''}\n`)
  return new Kafka({ clientId, brokers: bootstrapServers.split(','), logCreator })
}

function memberOptions(options, groupId) {
  return {
    groupId,
    sessionTimeout: options.sessionTimeoutMs,
    heartbeatInterval: options.heartbeatIntervalMs,
    rebalanceTimeout: Math.max(5000, options.sessionTimeoutMs),
    // kafkajs sends its heartbeats between two fetches, so a fetch must not wait longer than one interval.
    maxWaitTimeInMs: options.heartbeatIntervalMs,
  }
}

function plain(partition, message) {
  return {
    partition,
    offset: Number(message.offset),
    key: message.key?.toString() ?? null,
    value: message.value?.toString() ?? null,
  }
}

async function withAdmin(options, work) {
  const admin = connect(options).admin()
  await admin.connect()
  try {
    return await work(admin)
  } finally {
    await admin.disconnect()
  }
}

async function produce(options) {
  const producer = connect(options).producer({
    idempotent: options.idempotent === true,
    // It has no bound in time, only one in tries.
    ...(options.giveUpAfterMs && { retry: { retries: 2 } }),
  })
  await producer.connect()
  await producer.send({
    topic: options.topic,
    acks: -1,
    compression: options.codec ? CODECS[options.codec] : CompressionTypes.None,
    messages: options.records.map(record => ({ ...record, headers: Object.fromEntries(record.headers ?? []) })),
  })
  await producer.disconnect()
}

async function sendLines(options) {
  const producer = connect(options).producer()
  await producer.connect()
  for await (const value of linesToSend()) {
    await producer.send({ topic: options.topic, acks: -1, messages: [{ key: `k-${value}`, value }] })
  }
  await producer.disconnect()
}

// One send for each partition at a time, and no partition shares a send with another: an idempotent producer of kafkajs that
// has to try again numbers them otherwise than at first.
async function keepProducingTo(options) {
  const kafka = connect(options)
  let producer
  await keepProducing(options, async (partition, values) => {
    producer ??= (async () => {
      const made = kafka.producer({ idempotent: true })
      await made.connect()
      return made
    })()
    const current = producer
    try {
      const messages = values.map(value => ({ partition, value }))
      const [answer] = await (await current).send({ topic: options.topic, acks: -1, messages })
      return Number(answer.baseOffset)
    } catch (error) {
      // It gave up, and no longer knows the numbers of its batches: another goes on.
      if (producer === current) producer = undefined
      throw error
    }
  })
  await (await producer)?.disconnect()
}

// kafkajs consumes in groups only: a group of one seeks where it was told and drops what the other partitions hold.
async function readPartition(options) {
  const { topic, partition, offset, count } = options
  const consumer = connect(options).consumer(memberOptions(options, `${options.clientId}-group`))
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const records = []
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    const eachMessage = async event => {
      if (event.partition !== partition || Number(event.message.offset) < offset) return
      if (records.length < count) records.push(plain(partition, event.message))
      if (records.length === count) resolve()
    }
    consumer.run({ autoCommit: false, eachMessage }).catch(reject)
    consumer.seek({ topic, partition, offset: String(offset) })
  })
  await consumer.disconnect()
  return records
}

async function join(options) {
  const consumer = connect(options).consumer(memberOptions(options, options.group))
  await consumer.connect()
  await consumer.subscribe({ topics: [options.topic], fromBeginning: options.reset === 'earliest' })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) =>
    emit('assigned', { partitions: payload.memberAssignment[options.topic] ?? [] }),
  )
  // It starts anew by itself after an error that may pass, and ends after any other.
  const crashed = new Promise((_, reject) =>
    consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error)),
  )
  await consumer.run({ eachMessage: async ({ partition, message }) => emit('record', plain(partition, message)) })
  await Promise.race([askedToLeave(), crashed])
  await consumer.disconnect()
}

async function consumeAndCommit(options) {
  const { topic, count } = options
  const consumer = connect(options).consumer(memberOptions(options, options.group))
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const records = []
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    const eachMessage = async ({ partition, message }) => {
      if (records.length === count) return
      records.push(plain(partition, message))
      if (records.length < count) return
      await consumer.commitOffsets([{ topic, partition, offset: String(Number(message.offset) + 1) }])
      resolve()
    }
    consumer.run({ autoCommit: false, eachMessage }).catch(reject)
  })
  await consumer.disconnect()
  return records
}

async function describeTopic(options) {
  const { topics } = await withAdmin(options, admin => admin.fetchTopicMetadata({ topics: [options.topic] }))
  const partitions = topics[0].partitions
  return { partitions: partitions.length, leaders: partitions.map(each => each.leader) }
}

async function createTopic(options) {
  const configEntries = Object.entries(options.configs).map(([name, value]) => ({ name, value }))
  // Waiting for leaders fails when Apache Kafka has not yet spread the word of the topic.
  const topics = [{ topic: options.topic, numPartitions: options.partitions, configEntries }]
  await withAdmin(options, admin => admin.createTopics({ topics, waitForLeaders: false }))
}

async function committedOffset(options) {
  const [found] = await withAdmin(options, admin =>
    admin.fetchOffsets({ groupId: options.group, topics: [options.topic] }),
  )
  return Number(found.partitions.find(each => each.partition === options.partition).offset)
}

async function commitOffset({ group, topic, partition, offset, ...options }) {
  const partitions = [{ partition, offset: String(offset) }]
  await withAdmin(options, admin => admin.setOffsets({ groupId: group, topic, partitions }))
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
