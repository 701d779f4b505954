/** The client on brokers that emulate earlier releases: it negotiates down, and speaks what it would with them. */
import { expect, it } from 'vitest'
import { type EmulatedRelease, RELEASES } from '../../src/broker/emulate/releases.ts'
import { GroupConsumer, KafkaClient, type Later, Producer, type Result } from '../../src/client/index.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { platform, startTestBroker } from '../broker/harness.ts'
import { BrokerTransport } from './broker-transport.ts'

const ADDRESS = { host: 'localhost', port: 9092 }

it.each(Object.keys(RELEASES) as EmulatedRelease[])('produces and consumes in a group as with Kafka %s', emulates => {
  const { env, cluster } = startTestBroker({ emulates, topics: [{ name: 'orders' }] })
  const broker = cluster.broker(1)
  const transport = new BrokerTransport(env)
  transport.listen(ADDRESS.host, ADDRESS.port, broker)
  const client = new KafkaClient({ env, transport, bootstrap: [ADDRESS], platform })
  const good = <T>(later: Later<Result<T>>): T => {
    env.settle()
    for (let waited = 0; !later.settled && waited < 60_000; waited += 10) env.advance(10)
    const result = later.value
    if (!result.ok) throw result.error
    return result.value
  }

  const producer = new Producer(client)
  const sent = producer.send({ topic: 'orders', value: utf8Encode('one book') })
  good(producer.close())
  expect(good(sent)).toMatchObject({ partition: 0, offset: 0 })
  const consumer = new GroupConsumer(client, { groupId: 'billing', topics: ['orders'], autoOffsetReset: 'earliest' })
  const values: string[] = []
  for (let polls = 0; values.length === 0 && polls < 50; polls++) {
    for (const { value } of good(consumer.poll(100))) values.push(utf8Decode(value as Uint8Array))
  }
  expect(values).toEqual(['one book'])
  good(consumer.close())
  client.close()

  const told = new Map<string, readonly [number, number]>(RELEASES[emulates].apis.map(api => [api.name, api.versions]))
  const requests = broker.requestLog.records()
  for (const api of ['Produce', 'Fetch', 'Metadata', 'JoinGroup', 'OffsetFetch']) {
    const own = broker.handlers.get(requests.find(request => request.api === api)?.apiKey ?? -1)
    const highest = Math.min(told.get(api)?.[1] ?? -1, own?.api.versions[1] ?? -1)
    expect([api, ...new Set(requests.filter(each => each.api === api).map(({ version }) => version))]).toEqual([
      api,
      highest,
    ])
  }
})
