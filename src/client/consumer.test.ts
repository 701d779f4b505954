import { describe, expect, it } from 'vitest'
import { CLOSE, ScriptedBrokers, topicIdOf } from '../../test/client/scripted-broker.ts'
import { fetch } from '../protocol/apis/fetch.ts'
import { listOffsets } from '../protocol/apis/list-offsets.ts'
import type { Decoded } from '../protocol/dsl.ts'
import { type BatchInput, buildBatch } from '../records/batch-builder.ts'
import { PURE_PLATFORM } from '../records/compression.ts'
import { buildEndTransactionMarker } from '../records/control.ts'
import { concat } from '../util/byte-writer.ts'
import { Later } from '../util/later.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { KafkaClient } from './client.ts'
import { Consumer, type ConsumerOptions, type ConsumerRecord } from './consumer.ts'
import type { KafkaClientOptions } from './options.ts'
import type { Result } from './result.ts'

type FetchRequest = Decoded<typeof fetch.request>
type FetchPartition = FetchRequest['topics'][number]['partitions'][number]

const TP = { topic: 'orders', partition: 0 }

function batch(baseOffset: number, values: string[], more: Partial<BatchInput> = {}): Uint8Array {
  const records = values.map(value => ({ value: utf8Encode(value), timestamp: 1000 + baseOffset }))
  return buildBatch({ records, baseOffset, partitionLeaderEpoch: 3, ...more })
}

/** A response with one partition per partition asked for; `answer` gives what differs from "nothing new". */
function respond(body: FetchRequest, sessionId: number, answer: (asked: FetchPartition) => object | undefined) {
  return {
    sessionId,
    responses: body.topics.map(({ topic, topicId, partitions }) => ({
      topic,
      topicId,
      partitions: partitions.flatMap(asked => {
        const more = answer(asked)
        return more === undefined
          ? []
          : [{ partitionIndex: asked.partition, highWatermark: 100, abortedTransactions: null, records: null, ...more }]
      }),
    })),
  }
}

function start(options: ConsumerOptions = {}, clientOptions: Partial<KafkaClientOptions> = {}) {
  const env = new VirtualEnv()
  const brokers = new ScriptedBrokers(env)
  brokers.topics.set('orders', { leaders: [1, 1], leaderEpoch: 3 })
  const bootstrap = [{ host: 'broker', port: 9001 }]
  const client = new KafkaClient({ env, transport: brokers, bootstrap, platform: PURE_PLATFORM, ...clientOptions })
  const consumer = new Consumer(client, options)
  client.topics(['orders'])
  env.settle()
  return { env, brokers, client, consumer }
}

const values = (result: Result<ConsumerRecord[]>) =>
  result.ok
    ? result.value.map(record => `${record.offset}${utf8Decode(record.value as Uint8Array)}`)
    : result.error.code

/** What each fetch asked for: session id and epoch, partitions at their offsets, partitions forgotten. */
const asked = (brokers: ScriptedBrokers) =>
  brokers
    .bodies(fetch)
    .map(({ sessionId, sessionEpoch, topics, forgottenTopicsData }) => [
      `${sessionId}/${sessionEpoch}`,
      ...topics.flatMap(topic => topic.partitions.map(each => `${each.partition}@${each.fetchOffset}`)),
      ...forgottenTopicsData.flatMap(topic => topic.partitions.map(each => `-${each}`)),
    ])

describe('poll', () => {
  it('gives records from the position on, not what the whole batch has below it', () => {
    const { env, brokers, consumer } = start()
    brokers.on(fetch, body => respond(body, 0, () => ({ records: batch(5, ['a', 'b', 'c']), highWatermark: 8 })))
    consumer.assign([TP])
    consumer.seek(TP, 6)
    const polled = consumer.poll(1000)
    env.settle()
    expect(values(polled.value)).toEqual(['6b', '7c'])
    expect(consumer.positionNow(TP)).toEqual({ offset: 8, leaderEpoch: 3 })
    expect(consumer.watermarks(TP).highWatermark).toBe(8)
  })

  it('gives at most so many records, and no others until they are taken', () => {
    const { env, brokers, consumer } = start({ maxPollRecords: 2 })
    brokers.on(fetch, body =>
      respond(body, 0, ({ fetchOffset }) =>
        fetchOffset === 0 ? { records: batch(0, ['a', 'b', 'c', 'd', 'e']) } : {},
      ),
    )
    consumer.assign([TP])
    consumer.seek(TP, 0)
    const seen: unknown[] = []
    for (let round = 0; round < 4; round++) {
      const polled = consumer.poll(0)
      env.settle()
      seen.push(values(polled.value), consumer.positionNow(TP)?.offset)
    }
    expect(seen).toEqual([[], 0, ['0a', '1b'], 2, ['2c', '3d'], 4, ['4e'], 5])
  })

  it('gives nothing when the time is over, and takes no second poll meanwhile', () => {
    const { env, brokers, consumer, client } = start()
    brokers.on(fetch, () => new Later(env.turns))
    consumer.assign([TP])
    consumer.seek(TP, 0)
    const polled = consumer.poll(300)
    expect(values(consumer.poll().value)).toBe('OTTLA_INVALID_ARGUMENT')
    env.advance(299)
    expect(polled.settled).toBe(false)
    env.advance(1)
    expect(values(polled.value)).toEqual([])
    const waiting = consumer.poll(1000)
    consumer.close()
    env.settle()
    expect(values(waiting.value)).toBe('OTTLA_CLIENT_CLOSED')
    client.close()
    env.settle()
    expect(env.timers).toBe(0)
  })

  it('moves over control batches, and with read_committed over aborted records', () => {
    const marker = (baseOffset: number, producerId: number, type: 'ABORT' | 'COMMIT') =>
      buildEndTransactionMarker({ type, producerId, producerEpoch: 0, coordinatorEpoch: 0, timestamp: 1, baseOffset })
    const tx = (producerId: number) => ({ isTransactional: true, producerId, producerEpoch: 0, baseSequence: 0 })
    const records = concat([
      batch(0, ['a'], tx(7)),
      batch(1, ['b'], tx(8)),
      batch(2, ['c']),
      marker(3, 7, 'ABORT'),
      batch(4, ['d'], tx(7)),
      marker(5, 8, 'COMMIT'),
      marker(6, 7, 'COMMIT'),
    ])
    const abortedTransactions = [{ producerId: 7, firstOffset: 0 }]
    for (const [isolationLevel, expected] of [
      ['read_committed', ['1b', '2c', '4d']],
      ['read_uncommitted', ['0a', '1b', '2c', '4d']],
    ] as const) {
      const { env, brokers, consumer } = start({ isolationLevel })
      brokers.on(fetch, body => {
        const committed = body.isolationLevel === 1
        return respond(body, 0, () => ({ records, abortedTransactions: committed ? abortedTransactions : null }))
      })
      consumer.assign([TP])
      consumer.seek(TP, 0)
      const polled = consumer.poll(10)
      env.settle()
      expect(values(polled.value)).toEqual(expected)
      expect(consumer.positionNow(TP)?.offset).toBe(7)
    }
  })

  it('says so when a batch is broken, after the records before it', () => {
    const { env, brokers, consumer } = start()
    const broken = batch(1, ['b'])
    broken[65] ^= 1
    const all = concat([batch(0, ['a']), broken])
    brokers.on(fetch, body => respond(body, 0, ({ fetchOffset }) => ({ records: fetchOffset === 0 ? all : broken })))
    consumer.assign([TP])
    consumer.seek(TP, 0)
    const first = consumer.poll(10)
    env.settle()
    expect(values(first.value)).toEqual(['0a'])
    const second = consumer.poll(10)
    env.settle()
    expect(values(second.value)).toBe('CORRUPT_MESSAGE')
  })

  it.each([
    ['behind the high watermark', [batch(0, ['a']), batch(2 ** 52, ['b'])]],
    ['before its neighbour', [batch(0, ['a']), batch(0, ['b'])]],
  ])('says so when a batch claims an offset %s, which no checksum covers', (_, batches) => {
    const { env, brokers, consumer } = start()
    brokers.on(fetch, body =>
      respond(body, 0, ({ fetchOffset }) => ({
        records: concat(batches.slice(fetchOffset === 0 ? 0 : 1)),
        highWatermark: 2,
      })),
    )
    consumer.assign([TP])
    consumer.seek(TP, 0)
    const polled = consumer.poll(10)
    env.settle()
    expect(values(polled.value)).toEqual(['0a'])
    expect(consumer.positionNow(TP)?.offset).toBe(1)
  })
})

describe('positions', () => {
  it.each([
    ['earliest', -2, 3],
    ['latest', -1, 9],
  ] as const)('begin at the %s offset', (autoOffsetReset, timestamp, offset) => {
    const { env, brokers, consumer } = start({ autoOffsetReset })
    brokers.on(listOffsets, body => ({
      topics: body.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(each => ({ ...each, offset: each.timestamp === -2 ? 3 : 9 })),
      })),
    }))
    consumer.assign([TP])
    const position = consumer.position(TP)
    env.settle()
    expect(position.value).toEqual({ ok: true, value: offset })
    expect(brokers.bodies(listOffsets)[0].topics[0].partitions[0]).toMatchObject({ timestamp, currentLeaderEpoch: 3 })
    consumer.seekToBeginning(TP)
    const beginning = consumer.position(TP)
    env.settle()
    expect(beginning.value).toEqual({ ok: true, value: 3 })
    expect(consumer.seek({ topic: 'x', partition: 1 }, 1)).toMatchObject({ error: { code: 'OTTLA_NOT_ASSIGNED' } })
  })

  it('are the business of the caller with policy none', () => {
    const { env, brokers, consumer } = start({ autoOffsetReset: 'none' })
    consumer.assign([TP])
    const missing = consumer.poll(100)
    env.settle()
    expect(values(missing.value)).toBe('OTTLA_NO_OFFSET')
    brokers.on(fetch, body => respond(body, 0, () => ({ errorCode: 1 })))
    consumer.seek(TP, 99)
    const beyond = consumer.poll(100)
    env.settle()
    expect(values(beyond.value)).toBe('OFFSET_OUT_OF_RANGE')
  })

  it('are looked for again when the offset does not exist', () => {
    const { env, brokers, consumer } = start({ autoOffsetReset: 'earliest' })
    brokers.on(listOffsets, body => ({
      topics: body.topics.map(({ name, partitions }) => ({
        name,
        partitions: partitions.map(each => ({ ...each, offset: 4 })),
      })),
    }))
    brokers.on(fetch, body =>
      respond(body, 0, ({ fetchOffset }) => (fetchOffset === 4 ? { records: batch(4, ['e']) } : { errorCode: 1 })),
    )
    consumer.assign([TP])
    consumer.seek(TP, 99)
    const polled = consumer.poll(100)
    env.settle()
    expect(values(polled.value)).toEqual(['4e'])
  })

  it('go back where the log was truncated', () => {
    const { env, brokers, consumer } = start({ autoOffsetReset: 'earliest' })
    brokers.on(fetch, body =>
      respond(body, 0, ({ fetchOffset, lastFetchedEpoch }) =>
        fetchOffset === 9
          ? lastFetchedEpoch === 2
            ? { divergingEpoch: { epoch: 2, endOffset: 6 } }
            : {}
          : { records: batch(6, ['new']) },
      ),
    )
    consumer.assign([TP])
    consumer.seek(TP, 9, 2)
    const polled = consumer.poll(100)
    env.settle()
    expect(values(polled.value)).toEqual(['6new'])
  })

  it('are not touched by answers to what was asked before a seek', () => {
    const { env, brokers, consumer } = start()
    const late = new Later(env.turns)
    brokers.once(fetch, late)
    brokers.on(fetch, body => respond(body, 0, ({ fetchOffset }) => ({ records: batch(fetchOffset, ['x']) })))
    brokers.once(fetch, late)
    consumer.assign([TP])
    consumer.seek(TP, 0)
    const polled = consumer.poll(1000)
    env.settle()
    const [first] = brokers.bodies(fetch)
    consumer.seek(TP, 50)
    late.settle(respond(first, 0, () => ({ records: batch(0, ['old']) })))
    env.settle()
    expect(values(polled.value)).toEqual(['50x'])
  })

  it('of paused partitions stand still', () => {
    const { env, brokers, consumer } = start()
    brokers.on(fetch, body => respond(body, 0, ({ fetchOffset }) => ({ records: batch(fetchOffset, ['x']) })))
    consumer.assign([TP])
    consumer.seek(TP, 0)
    consumer.pause(TP)
    const polled = consumer.poll(100)
    env.advance(100)
    expect([values(polled.value), brokers.bodies(fetch).length]).toEqual([[], 0])
    consumer.resume(TP)
    const resumed = consumer.poll(100)
    env.settle()
    expect(values(resumed.value)).toEqual(['0x'])
  })
})

describe('fetch sessions', () => {
  const other = { topic: 'orders', partition: 1 }

  it('send what changed, and forget what is no longer read', () => {
    const { env, brokers, consumer } = start()
    brokers.on(fetch, body =>
      respond(body, 42, ({ partition, fetchOffset }) =>
        partition === 0 && fetchOffset < 2 ? { records: batch(fetchOffset, ['x']) } : undefined,
      ),
    )
    consumer.assign([TP, other])
    consumer.seek(TP, 0)
    consumer.seek(other, 0)
    const poll = () => {
      consumer.poll(0)
      env.settle()
    }
    poll()
    poll()
    poll()
    consumer.assign([other])
    poll()
    expect(asked(brokers)).toEqual([
      ['0/0', '0@0', '1@0'],
      ['42/1', '0@1'],
      ['42/2', '0@2'],
      ['42/3', '-0'],
    ])
    consumer.close()
    env.settle()
    expect(asked(brokers).at(-1)).toEqual(['42/-1'])
  })

  it.each([
    [70, '0/0'],
    [71, '42/0'],
    [106, '42/0'],
  ])('begin anew after error %i', (errorCode, next) => {
    const { env, brokers, consumer } = start()
    brokers.on(fetch, body => respond(body, 42, ({ fetchOffset }) => ({ records: batch(fetchOffset, ['x']) })))
    consumer.assign([TP])
    consumer.seek(TP, 0)
    consumer.poll(0)
    env.settle()
    brokers.once(fetch, { errorCode })
    consumer.poll(0)
    env.settle()
    const polled = consumer.poll(1000)
    env.settle()
    expect(values(polled.value)).toEqual(['1x'])
    expect(asked(brokers).slice(1, 3)).toEqual([
      ['42/1', '0@1'],
      [next, '0@1'],
    ])
  })

  it('can be done without, by choice or when the broker keeps none', () => {
    for (const [options, sessionEpoch] of [
      [{ fetchSessions: false }, -1],
      [{}, 0],
    ] as const) {
      const { env, brokers, consumer } = start(options)
      brokers.on(fetch, body => respond(body, 0, ({ fetchOffset }) => ({ records: batch(fetchOffset, ['x']) })))
      consumer.assign([TP])
      consumer.seek(TP, 0)
      for (let round = 0; round < 3; round++) {
        consumer.poll(0)
        env.settle()
      }
      expect(new Set(brokers.bodies(fetch).map(each => each.sessionEpoch))).toEqual(new Set([sessionEpoch]))
    }
  })

  it('name a topic that was made again by its new id, and forget the old one', () => {
    const { env, brokers, client, consumer } = start()
    brokers.on(fetch, body => respond(body, 42, () => undefined))
    consumer.assign([TP])
    consumer.seek(TP, 0)
    consumer.poll(0)
    env.settle()
    brokers.topics.set('orders', { topicId: topicIdOf('new'), leaders: [1, 1] })
    client.refresh()
    env.settle()
    // The position was one in the old topic; with the policy latest it would be looked for anew.
    consumer.seek(TP, 0)
    consumer.poll(0)
    env.settle()
    expect(brokers.bodies(fetch)[1]).toMatchObject({
      topics: [{ topicId: topicIdOf('new') }],
      forgottenTopicsData: [{ topicId: topicIdOf('orders') }],
    })
  })

  it.each([4, 6, 7, 11, 12, 13, 16, 18])('work in version %i', version => {
    const { env, brokers, consumer } = start({}, { maxVersions: { Fetch: version } })
    brokers.on(fetch, body => respond(body, 42, ({ fetchOffset }) => ({ records: batch(fetchOffset, ['x']) })))
    // Before version 7 there is no session id in the answer.
    if (version < 7)
      brokers.on(fetch, body => respond(body, 0, ({ fetchOffset }) => ({ records: batch(fetchOffset, ['x']) })))
    consumer.assign([TP])
    consumer.seek(TP, 0)
    const seen: unknown[] = []
    for (let round = 0; round < 2; round++) {
      const polled = consumer.poll(10)
      env.settle()
      seen.push(values(polled.value))
    }
    expect(seen).toEqual([['0x'], ['1x']])
  })
})

describe('leaders', () => {
  it('that are replaced are followed, by their hint or by metadata', () => {
    const { env, brokers, consumer } = start()
    brokers.nodes.set(2, 9002)
    brokers.on(fetch, (body, { port }) =>
      respond(body, 0, ({ fetchOffset, currentLeaderEpoch }) => {
        if (port === 9002) return currentLeaderEpoch === 4 ? { records: batch(fetchOffset, ['x']) } : { errorCode: 76 }
        brokers.topics.set('orders', { leaders: [2, 2], leaderEpoch: 4 })
        return { errorCode: 6 }
      }),
    )
    consumer.assign([TP])
    consumer.seek(TP, 0)
    const polled = consumer.poll(5000)
    env.advance(1000)
    expect(values(polled.value)).toEqual(['0x'])
  })

  it('that cannot be reached are tried again', () => {
    const { env, brokers, consumer } = start()
    brokers.on(fetch, body => respond(body, 0, ({ fetchOffset }) => ({ records: batch(fetchOffset, ['x']) })))
    brokers.once(fetch, CLOSE, CLOSE)
    consumer.assign([TP])
    consumer.seek(TP, 0)
    const polled = consumer.poll(5000)
    env.advance(3000)
    expect(values(polled.value)).toEqual(['0x'])
  })

  it('that refuse for good are heard of', () => {
    const { env, brokers, consumer } = start()
    brokers.on(fetch, body => respond(body, 0, () => ({ errorCode: 29 })))
    consumer.assign([TP])
    consumer.seek(TP, 0)
    const polled = consumer.poll(5000)
    env.settle()
    expect(values(polled.value)).toBe('TOPIC_AUTHORIZATION_FAILED')
  })
})
