import { describe, expect, it } from 'vitest'
import { startTestBroker } from '../../test/broker/harness.ts'
import { fetch } from '../protocol/apis/fetch.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { appendToTopic, clearTopic, countRecords, readTopic, type TopicRecordInput } from './topic-access.ts'

const record = (value: string, more: Partial<TopicRecordInput> = {}): TopicRecordInput => {
  return { key: null, value: utf8Encode(value), headers: [], ...more }
}

function start() {
  const world = startTestBroker({ topics: [{ name: 'orders', partitions: 3 }] })
  const broker = world.cluster.broker(1)
  const values = () => readTopic(broker, 'orders').map(({ value }) => utf8Decode(value as Uint8Array))
  return { ...world, broker, values }
}

describe('the records of a topic', () => {
  it('are appended by key, in turn, or where they are told to, and read back merged by time', () => {
    const { broker, values, env } = start()
    const places = appendToTopic(broker, 'orders', [
      record('in turn 0'),
      record('in turn 1'),
      record('by key', { key: utf8Encode('k') }),
      record('there', { partition: 2, headers: [{ key: 'h', value: utf8Encode('v') }] }),
    ])
    expect(places[0]).toEqual({ partition: 0, offset: 0 })
    expect(places[1].partition).toBe(1)
    expect(places[3].partition).toBe(2)
    env.advance(10)
    appendToTopic(broker, 'orders', [record('later'), record('latest', { partition: 2 })])
    expect(values().slice(-2).sort()).toEqual(['later', 'latest'])
    expect(countRecords(broker, 'orders')).toBe(6)
    const there = readTopic(broker, 'orders').find(({ headers }) => headers.length > 0)
    expect(there).toMatchObject({ topic: 'orders', partition: 2, key: null, headers: [{ key: 'h' }] })
  })

  it('keep the order of their partition, whatever their times are', () => {
    const { broker, values } = start()
    for (const [value, timestamp] of [
      ['a', 30],
      ['b', 10],
      ['c', 20],
    ] as const) {
      appendToTopic(broker, 'orders', [record(value, { partition: 0, timestamp: 1_700_000_000_000 + timestamp })])
    }
    appendToTopic(broker, 'orders', [record('x', { partition: 1, timestamp: 1_700_000_000_015 })])
    expect(values()).toEqual(['x', 'a', 'b', 'c'])
  })

  it('reach consumers that wait, and are gone once cleared, with offsets that go on', () => {
    const { broker, connect, env, values } = start()
    const client = connect()
    const topics = [{ topic: 'orders', partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1e6 }] }]
    const answer = client.send(fetch, 12, { maxWaitMs: 5000, minBytes: 1, sessionEpoch: -1, topics })
    appendToTopic(broker, 'orders', [record('a', { partition: 0 })])
    env.settle()
    expect(answer()?.responses[0].partitions[0].highWatermark).toBe(1)
    clearTopic(broker, 'orders')
    expect([values(), countRecords(broker, 'orders')]).toEqual([[], 0])
    expect(appendToTopic(broker, 'orders', [record('b', { partition: 0 })])).toEqual([{ partition: 0, offset: 1 }])
    expect(values()).toEqual(['b'])
  })

  it('are those of topics that there are', () => {
    const { broker } = start()
    expect(() => readTopic(broker, 'nowhere')).toThrow('there is no topic nowhere')
    expect(() => appendToTopic(broker, 'orders', [record('a', { partition: 7 })])).toThrow()
    expect(countRecords(broker, 'nowhere')).toBe(0)
  })
})
