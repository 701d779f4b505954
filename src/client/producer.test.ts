import { describe, expect, it } from 'vitest'
import { CLOSE, ScriptedBrokers, SILENT } from '../../test/client/scripted-broker.ts'
import { javaPartition } from '../core/partitioners.ts'
import { initProducerId } from '../protocol/apis/init-producer-id.ts'
import { metadata } from '../protocol/apis/metadata.ts'
import { produce } from '../protocol/apis/produce.ts'
import type { Decoded } from '../protocol/dsl.ts'
import { checkBatch, readBatchHeader } from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import { PURE_PLATFORM } from '../records/compression.ts'
import { crc32cJs } from '../records/crc32c.ts'
import { Later } from '../util/later.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { KafkaClient } from './client.ts'
import type { KafkaClientOptions } from './options.ts'
import { Producer, type ProducerOptions } from './producer.ts'

type ProduceRequest = Decoded<typeof produce.request>

const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAQ'

/** One try every three seconds or so. */
const SLOW = { retryBackoffMs: 3000, retryBackoffMaxMs: 3000 }

/** What a request holds, one line per batch: partition, sequence, values. */
function batchesOf(body: ProduceRequest) {
  return body.topicData.flatMap(topic =>
    topic.partitionData.map(({ index, records }) => {
      checkBatch(records as Uint8Array, 0, crc32cJs)
      const { producerId, producerEpoch, baseSequence } = readBatchHeader(records as Uint8Array)
      const values = readRecords(records as Uint8Array, 0, PURE_PLATFORM).map(each =>
        utf8Decode(each.value as Uint8Array),
      )
      return { partition: index, producerId, producerEpoch, baseSequence, values }
    }),
  )
}

/** The answer that gives each batch `errorCode`, and to the good ones offsets from 100 on. */
function answer(body: ProduceRequest, errorCode = 0, more: object = {}) {
  return {
    responses: body.topicData.map(({ name, topicId, partitionData }) => ({
      name,
      topicId,
      partitionResponses: partitionData.map(({ index }) => ({ index, errorCode, baseOffset: 100, ...more })),
    })),
  }
}

function start(options: ProducerOptions = {}, clientOptions: Partial<KafkaClientOptions> = {}) {
  const env = new VirtualEnv()
  const brokers = new ScriptedBrokers(env)
  brokers.topics.set('orders', { topicId: TOPIC_ID, leaders: [1, 1], leaderEpoch: 3 })
  let producerIds = 70
  brokers.on(initProducerId, () => ({ producerId: producerIds++ }))
  brokers.on(produce, body => answer(body))
  const bootstrap = [{ host: 'broker', port: 9001 }]
  const client = new KafkaClient({ env, transport: brokers, bootstrap, platform: PURE_PLATFORM, ...clientOptions })
  const producer = new Producer(client, options)
  const send = (value: string, partition = 0) => producer.send({ topic: 'orders', partition, value: utf8Encode(value) })
  const sent = () => brokers.bodies(produce).map(batchesOf)
  const sequences = () =>
    sent().map(batches => batches.map(each => [each.producerEpoch, each.baseSequence, ...each.values]))
  return { env, brokers, client, producer, send, sent, sequences }
}

describe('producing', () => {
  it('puts the records of a turn into one request, a batch per partition, and says where they lie', () => {
    const { env, producer, send, sent } = start()
    const replies = [send('a'), send('b', 1), send('c')]
    env.settle()
    expect(sent()).toEqual([
      [
        { partition: 0, producerId: 70, producerEpoch: 0, baseSequence: 0, values: ['a', 'c'] },
        { partition: 1, producerId: 70, producerEpoch: 0, baseSequence: 0, values: ['b'] },
      ],
    ])
    expect(replies.map(reply => reply.value)).toMatchObject([
      { ok: true, value: { topic: 'orders', partition: 0, offset: 100, timestamp: env.now() } },
      { ok: true, value: { partition: 1, offset: 100 } },
      { ok: true, value: { partition: 0, offset: 101 } },
    ])
    producer.close()
    env.settle()
    expect(send('d').value).toMatchObject({ error: { code: 'OTTLA_CLIENT_CLOSED' } })
  })

  it.each([3, 8, 9, 12, 13])('speaks Produce %i', version => {
    const { env, brokers, send } = start({}, { maxVersions: { Produce: version } })
    const reply = send('a')
    env.settle()
    expect(reply.value).toMatchObject({ ok: true, value: { offset: 100 } })
    const [{ name, topicId }] = brokers.bodies(produce)[0].topicData
    expect(version < 13 ? name : topicId).toBe(version < 13 ? 'orders' : TOPIC_ID)
  })

  it('sends to each leader what is his', () => {
    const { env, brokers, send } = start()
    brokers.nodes.set(2, 9002)
    brokers.topics.set('orders', { topicId: TOPIC_ID, leaders: [1, 2] })
    send('a')
    send('b', 1)
    env.settle()
    const seen = brokers.seen.filter(each => each.name === 'Produce')
    expect(seen.map(each => [each.port, batchesOf(each.body)[0].values[0]])).toEqual([
      [9001, 'a'],
      [9002, 'b'],
    ])
  })

  it('lingers when told to, unless the batch is full or flushed', () => {
    const { env, producer, send, sent } = start({ lingerMs: 10, batchBytes: 100 })
    send('a')
    env.advance(9)
    expect(sent()).toEqual([])
    send('b')
    env.advance(1)
    expect(
      sent()
        .flat()
        .map(each => each.values),
    ).toEqual([['a', 'b']])
    send('x'.repeat(80))
    env.settle()
    expect(sent().length).toBe(2)
    send('c')
    const flushed = producer.flush()
    env.settle()
    expect([flushed.settled, sent().length]).toEqual([true, 3])
  })

  it('chooses partitions as Java does', () => {
    const { env, brokers, producer, sent } = start({ batchBytes: 100 })
    brokers.topics.set('orders', { topicId: TOPIC_ID, leaders: [1, 1, 1, 1, 1, 1] })
    for (const key of ['', 'a', 'foobar'])
      producer.send({ topic: 'orders', key: utf8Encode(key), value: utf8Encode(key) })
    env.settle()
    for (const { partition, values } of sent().flat()) {
      for (const value of values) expect(partition).toBe(javaPartition(utf8Encode(value), 6))
    }
    const before = sent().flat().length
    for (let index = 0; index < 40; index++) producer.send({ topic: 'orders', value: utf8Encode('0123456789') })
    env.settle()
    const keyless = sent().flat().slice(before)
    // Three records fill a batch, so they stay together, and the batches go here and there.
    expect(Math.max(...keyless.map(each => each.values.length))).toBeGreaterThan(1)
    expect(new Set(keyless.map(each => each.partition)).size).toBeGreaterThan(2)
  })

  it('waits for the topic, and keeps the order of what waits', () => {
    const { env, brokers, producer, sent } = start()
    const late = ['a', 'b'].map(value => producer.send({ topic: 'late', partition: 0, value: utf8Encode(value) }))
    env.advance(500)
    late.push(producer.send({ topic: 'late', partition: 0, value: utf8Encode('c') }))
    brokers.topics.set('late', { leaders: [1] })
    env.advance(2000)
    expect(sent()).toMatchObject([[{ values: ['a', 'b', 'c'] }]])
    const never = producer.send({ topic: 'never', value: utf8Encode('x') })
    const absent = producer.send({ topic: 'orders', partition: 7 })
    env.advance(60_000)
    expect(never.value).toMatchObject({ error: { code: 'UNKNOWN_TOPIC_OR_PARTITION' } })
    expect(absent.value).toMatchObject({ error: { code: 'OTTLA_INVALID_ARGUMENT' } })
  })

  it('with acks 0 expects no answer, with acks 1 no sequence', () => {
    for (const acks of [0, 1] as const) {
      const { env, brokers, send, sent } = start({ acks })
      const replies = [send('a'), send('b')]
      env.settle()
      expect(replies[1].value).toMatchObject({ ok: true, value: { offset: acks === 0 ? -1 : 101 } })
      expect(sent()).toMatchObject([[{ producerId: -1, baseSequence: -1 }]])
      expect(brokers.bodies(initProducerId)).toEqual([])
      expect(new Producer(start().client, { acks, idempotent: true }).send({ topic: 'orders' }).value.ok).toBe(false)
    }
  })

  it('reads the time of the broker where the topic has log append time', () => {
    const { env, brokers, send } = start()
    brokers.on(produce, body => answer(body, 0, { logAppendTimeMs: 77 }))
    const reply = send('a')
    env.settle()
    expect(reply.value).toMatchObject({ value: { timestamp: 77 } })
  })

  it('says so when the codec is not there, and goes on', () => {
    const { env, send } = start({ compression: 'gzip' })
    const reply = send('a')
    env.settle()
    expect(reply.value).toMatchObject({ error: { code: 'UNSUPPORTED_COMPRESSION_TYPE' } })
  })
})

describe('trying again', () => {
  it('goes to the leader that the old one names, at once, under the same sequence', () => {
    const { env, brokers, send } = start()
    brokers.nodes.set(2, 9002)
    brokers.once(produce, body => ({
      ...answer(body, 6, { currentLeader: { leaderId: 2, leaderEpoch: 4 } }),
      nodeEndpoints: [{ nodeId: 2, host: 'broker', port: 9002 }],
    }))
    const reply = send('a')
    env.settle()
    expect(reply.value.ok).toBe(true)
    const seen = brokers.seen.filter(each => each.name === 'Produce')
    expect(seen.map(each => [each.port, batchesOf(each.body)[0].baseSequence])).toEqual([
      [9001, 0],
      [9002, 0],
    ])
  })

  it('asks who leads when nobody is named', () => {
    const { env, brokers, send } = start()
    brokers.once(produce, body => {
      brokers.nodes.set(2, 9002)
      brokers.topics.set('orders', { topicId: TOPIC_ID, leaders: [2, 2], leaderEpoch: 4 })
      return answer(body, 6)
    })
    const reply = send('a')
    env.settle()
    expect(reply.settled).toBe(false)
    env.advance(1000)
    expect(reply.value.ok).toBe(true)
    expect(brokers.seen.filter(each => each.name === 'Produce').map(each => each.port)).toEqual([9001, 9002])
    expect(brokers.bodies(metadata).length).toBeGreaterThan(1)
  })

  it('sends the same bytes when the connection broke, and takes the word of the broker that it has them', () => {
    const { env, brokers, send, sent } = start()
    brokers.once(produce, CLOSE, CLOSE, body => answer(body, 0, { baseOffset: 42 }))
    const reply = send('a')
    env.settle()
    send('b')
    env.advance(5000)
    expect(reply.value).toMatchObject({ ok: true, value: { offset: 42 } })
    const batches = sent().flat()
    expect(batches.map(each => [each.baseSequence, each.values[0]])).toEqual([
      [0, 'a'],
      [0, 'a'],
      [0, 'a'],
      [1, 'b'],
    ])
  })

  it('keeps the order when the first of several on their way fails', () => {
    const { env, brokers, send, sequences } = start()
    send('warm')
    env.settle()
    const held = [1, 2, 3].map(() => new Later<ReturnType<typeof answer>>(env.turns))
    brokers.once(produce, ...held)
    const replies = ['a', 'b', 'c'].map(value => {
      const reply = send(value)
      env.settle()
      return reply
    })
    const body = brokers.bodies(produce)[1]
    held[0].settle(answer(body, 6))
    held[1].settle(answer(body, 45))
    held[2].settle(answer(body, 45))
    env.advance(2000)
    expect(replies.map(reply => reply.value.ok)).toEqual([true, true, true])
    expect(sequences().flat().slice(1)).toEqual([
      [0, 1, 'a'],
      [0, 2, 'b'],
      [0, 3, 'c'],
      [0, 1, 'a'],
      [0, 2, 'b'],
      [0, 3, 'c'],
    ])
  })

  it('begins a new epoch when the broker has lost the sequence, and numbers what is behind anew', () => {
    const { env, brokers, send, sequences } = start()
    send('warm')
    env.settle()
    const held = [1, 2].map(() => new Later<ReturnType<typeof answer>>(env.turns))
    brokers.once(produce, ...held)
    const first = send('a')
    env.settle()
    const second = send('b')
    env.settle()
    const body = brokers.bodies(produce)[1]
    held[0].settle(answer(body, 45))
    held[1].settle(answer(body, 45))
    env.advance(2000)
    expect(first.value).toMatchObject({ ok: false, error: { code: 'OUT_OF_ORDER_SEQUENCE_NUMBER' } })
    expect(second.value.ok).toBe(true)
    expect(sequences().flat().at(-1)).toEqual([1, 0, 'b'])
  })

  it('gives the sequence of a refused batch to the next one', () => {
    const { env, brokers, send, sequences } = start()
    brokers.once(produce, body => answer(body, 87, { errorMessage: 'no key' }))
    const refused = send('a')
    env.settle()
    const fine = send('b')
    env.settle()
    expect(refused.value).toMatchObject({ error: { code: 'INVALID_RECORD', message: 'INVALID_RECORD: no key' } })
    expect(fine.value.ok).toBe(true)
    expect(sequences().flat()).toEqual([
      [0, 0, 'a'],
      [0, 0, 'b'],
    ])
  })

  it('halves a batch that is too large, down to the record', () => {
    const { env, brokers, send, sequences } = start()
    brokers.on(produce, body => {
      const [{ values }] = batchesOf(body)
      return answer(body, values.join('').length > 2 ? 10 : 0)
    })
    const replies = ['a', 'b', 'c', 'dddd'].map(value => send(value))
    env.advance(1000)
    expect(replies.map(reply => reply.value.ok)).toEqual([true, true, true, false])
    expect(replies[3].value).toMatchObject({ error: { code: 'MESSAGE_TOO_LARGE' } })
    expect(sequences().flat()).toEqual([
      [0, 0, 'a', 'b', 'c', 'dddd'],
      [0, 0, 'a', 'b'],
      [0, 2, 'c', 'dddd'],
      [0, 2, 'c'],
      [0, 3, 'dddd'],
    ])
  })

  it('ends with the delivery timeout, and what was never sent goes on in a new epoch', () => {
    const { env, brokers, send, sequences } = start({ deliveryTimeoutMs: 5000 }, SLOW)
    brokers.on(produce, () => CLOSE)
    const first = send('a')
    env.advance(4500)
    const second = send('b')
    env.advance(500)
    expect(first.value).toMatchObject({ ok: false, error: { code: 'OTTLA_DELIVERY_TIMEOUT' } })
    expect(second.settled).toBe(false)
    brokers.on(produce, body => answer(body))
    env.advance(4000)
    expect(second.value.ok).toBe(true)
    expect(sequences().flat()).toEqual([
      [0, 0, 'a'],
      [0, 0, 'a'],
      [1, 0, 'b'],
    ])
  })

  it('never sends under another sequence what may be stored', () => {
    const { env, brokers, send, sequences } = start({ deliveryTimeoutMs: 5000 }, SLOW)
    send('warm')
    env.settle()
    brokers.on(produce, () => SILENT)
    const first = send('a')
    env.advance(1000)
    const second = send('b')
    env.settle()
    // Both were written when the connection broke.
    brokers.on(produce, () => CLOSE)
    for (const channel of brokers.channels) channel.end()
    env.advance(3999)
    expect(first.settled).toBe(false)
    brokers.on(produce, body => answer(body, 0))
    env.advance(1)
    expect(first.value).toMatchObject({ ok: false, error: { code: 'OTTLA_DELIVERY_TIMEOUT' } })
    expect(second.value).toMatchObject({ ok: false, error: { code: 'OUT_OF_ORDER_SEQUENCE_NUMBER' } })
    const third = send('c')
    env.advance(4000)
    expect(third.value.ok).toBe(true)
    expect(sequences().flat().at(-1)).toEqual([1, 0, 'c'])
  })

  it('ends when no producer id can be had', () => {
    const { env, brokers, send } = start()
    brokers.once(initProducerId, { errorCode: 14 }, { errorCode: 31 })
    const reply = send('a')
    env.advance(1000)
    expect(reply.value).toMatchObject({ error: { code: 'CLUSTER_AUTHORIZATION_FAILED' } })
    const next = send('b')
    env.settle()
    expect(next.value.ok).toBe(true)
  })

  it('ends when the client is closed, and leaves no timer', () => {
    const { env, brokers, client, producer, send } = start()
    brokers.on(produce, () => SILENT)
    const replies = [send('a')]
    env.settle()
    replies.push(send('b', 1))
    client.close()
    env.settle()
    for (const reply of replies) expect(reply.value.ok).toBe(false)
    const closed = producer.close()
    env.settle()
    expect([closed.settled, env.timers]).toEqual([true, 0])
  })
})
