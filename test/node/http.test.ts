import { Kafka, logLevel } from 'kafkajs'
import { expect, it } from 'vitest'
import { startBroker } from '../../src/node/index.ts'
import { fetchPath } from './support.ts'

/** The HTTP side over real sockets: what it tells, and whom. */

it('tells metrics under the names that dashboards know', async () => {
  const broker = await startBroker({ topics: ['orders:2'], http: true, log: false })
  const kafka = new Kafka({ brokers: [broker.bootstrapServers], logLevel: logLevel.NOTHING })
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({
    topic: 'orders',
    messages: [
      { value: 'a', partition: 1 },
      { value: 'b', partition: 1 },
    ],
  })
  const admin = kafka.admin()
  await admin.connect()
  await admin.setOffsets({ groupId: 'billing', topic: 'orders', partitions: [{ partition: 1, offset: '1' }] })

  const base = broker.http as string
  const { status, body } = await fetchPath(base, '/metrics')
  expect(status).toBe(200)
  for (const line of [
    'kafka_topic_partitions{topic="orders"} 2',
    'kafka_topic_partition_current_offset{topic="orders",partition="1"} 2',
    'kafka_consumergroup_lag{consumergroup="billing",topic="orders",partition="1"} 1',
    'kafka_server_brokertopicmetrics_messagesin_total{topic="orders"} 2',
    'kafka_network_requestmetrics_requests_total{request="Produce"} 1',
  ]) {
    expect(body.split('\n')).toContain(line)
  }

  const description = await broker.describe()
  expect(JSON.parse((await fetchPath(base, '/describe')).body)).toMatchObject({
    brokerId: 1,
    topics: description.topics,
  })
  expect(description.topics[0].partitions[1]).toMatchObject({ partition: 1, leader: 1, isr: [1], highWatermark: 2 })
  expect(description.groups).toMatchObject([
    { groupId: 'billing', state: 'Empty', offsets: [{ topic: 'orders', partition: 1, committed: 1, lag: 1 }] },
  ])

  await admin.disconnect()
  await producer.disconnect()
  await broker.close()
  await expect(fetchPath(base, '/healthz')).rejects.toThrow()
  await expect(broker.describe()).rejects.toMatchObject({ code: 'OTTLA_BROKER_CLOSED' })
})

it('refuses a Host that is not its own, unless it is allowed', async () => {
  const broker = await startBroker({ http: { allowedHosts: ['kafka.test'] }, log: false })
  const base = broker.http as string
  expect(await fetchPath(base, '/healthz')).toEqual({ status: 200, body: 'ok\n' })
  expect(await fetchPath(base, '/healthz', 'kafka.test:80')).toMatchObject({ status: 200 })
  expect(await fetchPath(base, '/healthz', 'evil.test')).toMatchObject({ status: 403 })
  expect(await fetchPath(base, '/nothing')).toMatchObject({ status: 404 })
  await broker.close()
})

it('is not there unless asked for, and tells when its port is taken', async () => {
  const first = await startBroker({ http: true, log: false })
  const port = Number(new URL(first.http as string).port)
  await expect(startBroker({ http: { port }, log: false })).rejects.toMatchObject({ code: 'OTTLA_PORT_IN_USE' })
  const second = await startBroker({ log: false })
  expect(second.http).toBeUndefined()
  await first.close()
  await second.close()
})

it('is served from a worker thread, too', { timeout: 60_000 }, async () => {
  const broker = await startBroker({ worker: true, topics: ['orders'], http: true, log: false })
  expect(await fetchPath(broker.http as string, '/healthz')).toMatchObject({ status: 200 })
  expect((await broker.describe()).topics.map(({ name }) => name)).toEqual(['orders'])
  await broker.close()
})
