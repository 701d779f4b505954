import { Kafka, type KafkaMessage, logLevel } from 'kafkajs'
import { describe, expect, it } from 'vitest'
import { type EmulatedRelease, RELEASES } from '../../src/broker/emulate/releases.ts'
import { startBroker, startCluster } from '../../src/node/index.ts'
import { askApiVersions } from './support.ts'

/** `emulate` from the outside: over TCP, in both kinds of thread, after a reset, and with a client that negotiates. */

/** The highest version that is told of an API, from the bytes of an answer in version 0. */
async function highest(port: number, apiKey: number): Promise<number | undefined> {
  const answer = await askApiVersions(port)
  const count = answer.readInt32BE(10)
  for (let index = 0; index < count; index++) {
    if (answer.readInt16BE(14 + 6 * index) === apiKey) return answer.readInt16BE(18 + 6 * index)
  }
  return undefined
}

it.each([false, true])('startBroker emulates, with worker: %s, also after a reset', async worker => {
  await using broker = await startBroker({ emulate: '2.8', worker })
  expect(await highest(broker.port, 1)).toBe(12)
  await broker.reset()
  expect(await highest(broker.port, 1)).toBe(12)
})

it.each([false, true])(
  'startCluster emulates in all its brokers, with workers: %s, also after a reset',
  async workers => {
    await using cluster = await startCluster({ brokers: 2, emulate: '2.8', workers })
    const all = () => Promise.all(cluster.brokers.map(({ port }) => highest(port, 1)))
    expect(await all()).toEqual([12, 12])
    await cluster.reset()
    expect(await all()).toEqual([12, 12])
  },
)

describe.each(Object.keys(RELEASES) as EmulatedRelease[])('as Kafka %s', release => {
  it('kafkajs produces and consumes in a group, within what is told', async () => {
    await using broker = await startBroker({ emulate: release, topics: ['orders:2'] })
    const kafka = new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.NOTHING })
    const producer = kafka.producer({ idempotent: true })
    await producer.connect()
    await producer.send({ topic: 'orders', messages: [{ value: 'a', partition: 0 }] })
    await producer.disconnect()
    const consumer = kafka.consumer({ groupId: 'billing' })
    await consumer.connect()
    await consumer.subscribe({ topic: 'orders', fromBeginning: true })
    const message = await new Promise<KafkaMessage>(resolve => {
      void consumer.run({ eachMessage: async ({ message }) => resolve(message) })
    })
    expect(String(message.value)).toBe('a')
    await consumer.disconnect()

    const ranges = new Map(RELEASES[release].apis.map(({ name, versions }) => [name, versions]))
    const requests = await broker.requests()
    expect(requests.map(({ api }) => api)).toEqual(expect.arrayContaining(['Produce', 'Fetch', 'OffsetCommit']))
    for (const { api, version } of requests) {
      expect(version, `${api} v${version}`).toBeLessThanOrEqual(ranges.get(api)?.[1] ?? -1)
    }
  })
})
