/** The client on the real broker, without sockets, in virtual time: produce, consume, groups. */

import { describe, expect, it } from 'vitest'
import {
  assignors,
  Consumer,
  type ConsumerRecord,
  createTopics,
  deleteTopics,
  describeCluster,
  describeConfigs,
  describeGroups,
  type Env,
  GroupConsumer,
  type GroupConsumerOptions,
  KafkaClient,
  type KafkaClientOptions,
  type Later,
  listGroups,
  Producer,
  type ProducerOptions,
  type Result,
} from '../../src/client/index.ts'
import type { TopicDeclaration } from '../../src/cluster/index.ts'
import { CODEC_NAMES } from '../../src/records/compression.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { platform, startTestBroker } from '../broker/harness.ts'
import { BrokerTransport } from './broker-transport.ts'

const ADDRESS = { host: 'localhost', port: 9092 }

function start(topics: TopicDeclaration[] = [{ name: 'orders', partitions: 3 }], configs: Record<string, string> = {}) {
  const { env, cluster } = startTestBroker({ topics, configs })
  const transport = new BrokerTransport(env)
  transport.listen(ADDRESS.host, ADDRESS.port, cluster.broker(1))
  const connect = (more: Partial<KafkaClientOptions> = {}) =>
    new KafkaClient({ env, transport, bootstrap: [ADDRESS], platform, ...more })
  /** What `later` settles with, the clock moving as far as `ms` if need be. */
  const wait = <T>(later: Later<T>, ms = 60_000): T => {
    env.settle()
    for (const end = env.now() + ms; !later.settled && env.now() < end; ) env.advance(10)
    return later.value
  }
  const good = <T>(later: Later<Result<T>>, ms?: number): T => {
    const result = wait(later, ms)
    if (!result.ok) throw result.error
    return result.value
  }
  return { env, cluster, transport, connect, wait, good }
}

type World = ReturnType<typeof start>

const value = (record: { value: Uint8Array | null }) => utf8Decode(record.value as Uint8Array)

/** Produces `count` records to each partition and flushes. */
function produce(
  { connect, good }: World,
  count: number,
  partitions = 3,
  options: ProducerOptions = {},
  topic = 'orders',
) {
  const client = connect()
  const producer = new Producer(client, options)
  const sent = []
  for (let index = 0; index < count; index++) {
    for (let partition = 0; partition < partitions; partition++) {
      sent.push(producer.send({ topic, partition, value: utf8Encode(`${partition}:${index}`) }))
    }
  }
  good(producer.close())
  const metadata = sent.map(later => good(later))
  client.close()
  return metadata
}

/** Polls until `enough` says so. */
function read(
  { good, env }: World,
  consumer: { poll(ms: number): Later<Result<ConsumerRecord[]>> },
  enough: (records: ConsumerRecord[]) => boolean,
): ConsumerRecord[] {
  const records: ConsumerRecord[] = []
  for (const end = env.now() + 60_000; !enough(records) && env.now() < end; ) {
    records.push(...good(consumer.poll(100)))
  }
  return records
}

describe('producing and consuming', () => {
  it.each(CODEC_NAMES)('brings back what was sent, compressed with %s', compression => {
    const world = start()
    const metadata = produce(world, 50, 3, { compression })
    expect(metadata.filter(each => each.partition === 1).map(each => each.offset)).toEqual([...Array(50).keys()])
    const consumer = new Consumer(world.connect(), { autoOffsetReset: 'earliest' })
    consumer.assign([0, 1, 2].map(partition => ({ topic: 'orders', partition })))
    const records = read(world, consumer, all => all.length >= 150)
    for (const partition of [0, 1, 2]) {
      const mine = records.filter(each => each.partition === partition)
      expect(mine.map(each => [each.offset, value(each)])).toEqual(
        [...Array(50).keys()].map(index => [index, `${partition}:${index}`]),
      )
    }
  })

  it('carries keys, headers, timestamps and tombstones', () => {
    const world = start()
    const client = world.connect()
    const producer = new Producer(client)
    const headers = [
      { key: 'h', value: utf8Encode('x') },
      { key: 'h', value: null },
    ]
    const sent = world.good(
      producer.send({
        topic: 'orders',
        partition: 0,
        key: utf8Encode('k'),
        value: null,
        headers,
        timestamp: 1_600_000_000_000,
      }),
    )
    expect(sent).toEqual({ topic: 'orders', partition: 0, offset: 0, timestamp: 1_600_000_000_000 })
    const consumer = new Consumer(client, { autoOffsetReset: 'earliest' })
    consumer.assign([{ topic: 'orders', partition: 0 }])
    const [record] = read(world, consumer, all => all.length > 0)
    expect(record).toMatchObject({ offset: 0, value: null, timestamp: 1_600_000_000_000, headers })
  })

  it.each([0, 1] as const)('works with acks %i', acks => {
    const world = start()
    produce(world, 5, 1, { acks })
    const consumer = new Consumer(world.connect(), { autoOffsetReset: 'earliest' })
    consumer.assign([{ topic: 'orders', partition: 0 }])
    expect(read(world, consumer, all => all.length >= 5).map(value)).toEqual(['0:0', '0:1', '0:2', '0:3', '0:4'])
  })

  it('speaks every version of Produce and Fetch', () => {
    const world = start()
    for (let version = 3; version <= 13; version++) {
      const client = world.connect({ maxVersions: { Produce: version } })
      world.good(new Producer(client).send({ topic: 'orders', partition: 0, value: utf8Encode(`p${version}`) }))
      client.close()
    }
    for (let version = 4; version <= 18; version++) {
      const client = world.connect({
        maxVersions: { Fetch: version, ListOffsets: Math.min(version, 11), Metadata: Math.min(version, 13) },
      })
      if (version >= 13) world.good(client.topics(['orders']))
      const consumer = new Consumer(client, { autoOffsetReset: 'earliest', maxPollRecords: 4 })
      consumer.assign([{ topic: 'orders', partition: 0 }])
      expect(read(world, consumer, all => all.length >= 11).length).toBe(11)
      client.close()
    }
  })

  it('creates a topic by producing to it', () => {
    const world = start([])
    const [metadata] = produce(world, 1, 1, {}, 'new')
    expect(metadata).toMatchObject({ topic: 'new', offset: 0 })
  })

  it('wakes a waiting poll when a record comes', () => {
    const world = start()
    const consumer = new Consumer(world.connect(), { maxWaitMs: 10_000, autoOffsetReset: 'latest' })
    const client = world.connect()
    const producer = new Producer(client)
    world.good(client.topics(['orders']))
    consumer.assign([{ topic: 'orders', partition: 0 }])
    const polled = consumer.poll(9_000)
    world.env.advance(1_000)
    expect(polled.settled).toBe(false)
    producer.send({ topic: 'orders', partition: 0, value: utf8Encode('now') })
    world.env.advance(20)
    expect(world.good(polled).map(value)).toEqual(['now'])
  })

  it('finds offsets by time, at the beginning and at the end', () => {
    const world = start()
    const client = world.connect()
    const producer = new Producer(client)
    for (const timestamp of [1000, 2000, 3000]) producer.send({ topic: 'orders', partition: 0, value: null, timestamp })
    world.good(producer.flush())
    const consumer = new Consumer(client)
    const tp = { topic: 'orders', partition: 0 }
    expect(world.good(consumer.endOffsets([tp])).get('orders:0')?.offset).toBe(3)
    expect(world.good(consumer.beginningOffsets([tp])).get('orders:0')?.offset).toBe(0)
    const at = world.good(consumer.offsetsForTimes([{ ...tp, timestamp: 1500 }]))
    expect(at.get('orders:0')).toMatchObject({ offset: 1, timestamp: 2000 })
  })

  it('stores nothing twice and loses nothing when connections break all the time', () => {
    const world = start()
    const client = world.connect({ retryBackoffMs: 10 })
    const producer = new Producer(client, { batchBytes: 100 })
    const sent: Later<Result<unknown>>[] = []
    for (let index = 0; index < 300; index++) {
      sent.push(producer.send({ topic: 'orders', partition: index % 3, value: utf8Encode(`${index}`) }))
      // Some breaks come before the request is read, some between its writing and its answer.
      for (let turn = 0; turn < index % 7; turn++) world.env.advance(1)
      if (index % 5 === 0) world.transport.breakAll()
    }
    for (const later of sent) world.good(later)
    const consumer = new Consumer(world.connect(), { autoOffsetReset: 'earliest' })
    consumer.assign([0, 1, 2].map(partition => ({ topic: 'orders', partition })))
    const records = read(world, consumer, all => all.length >= 300)
    expect(world.good(consumer.poll(1000))).toEqual([])
    for (const partition of [0, 1, 2]) {
      const mine = records.filter(each => each.partition === partition).map(each => Number(value(each)))
      expect(mine).toEqual([...Array(100).keys()].map(index => index * 3 + partition))
    }
  })

  it('goes on with a topic that was deleted and made again', () => {
    const world = start()
    // Else its own question after the topic could make it again before we do.
    const client = world.connect({ allowAutoTopicCreation: false })
    produce(world, 3, 1)
    const consumer = new Consumer(client, { autoOffsetReset: 'earliest' })
    consumer.assign([{ topic: 'orders', partition: 0 }])
    expect(read(world, consumer, all => all.length >= 3).length).toBe(3)
    const admin = world.connect()
    expect(world.good(deleteTopics(admin, ['orders'])).get('orders')?.ok).toBe(true)
    expect(world.good(createTopics(admin, [{ name: 'orders', partitions: 1 }])).get('orders')?.ok).toBe(true)
    produce(world, 2, 1)
    expect(read(world, consumer, all => all.length >= 2).map(each => each.offset)).toEqual([0, 1])
  })
})

describe('groups', () => {
  const join = (world: World, options: Partial<GroupConsumerOptions> = {}) =>
    new GroupConsumer(world.connect(), { groupId: 'g', topics: ['orders'], autoOffsetReset: 'earliest', ...options })

  it('reads, commits, leaves, and goes on where it was', () => {
    const world = start()
    produce(world, 10)
    const first = join(world)
    expect(read(world, first, all => all.length >= 30).length).toBe(30)
    world.good(first.commit())
    world.good(first.close())
    produce(world, 1)
    const second = join(world)
    const records = read(world, second, all => all.length >= 3)
    expect(records.map(each => [each.partition, each.offset]).sort()).toEqual([
      [0, 10],
      [1, 10],
      [2, 10],
    ])
  })

  it.each(assignors.map(each => [each.name, each] as const))(
    'of three share by %s, and go on when one leaves and one crashes',
    (_name, assignor) => {
      const world = start([{ name: 'orders', partitions: 6 }])
      const clients = [0, 1, 2].map(() => world.connect())
      const events: string[] = []
      const members = clients.map((client, index) => {
        const consumer = new GroupConsumer(client, {
          groupId: 'g',
          topics: ['orders'],
          autoOffsetReset: 'earliest',
          assignors: [assignor],
          sessionTimeoutMs: 10_000,
          listener: { revoked: partitions => void events.push(`${index}-${partitions.length}`) as undefined },
        })
        world.env.advance(15_000)
        return consumer
      })
      world.env.advance(10_000)
      const counts = () => members.map(each => each.member.owned.length)
      expect(counts()).toEqual([2, 2, 2])
      const owned = members.flatMap(each => each.member.owned.map(tp => tp.partition))
      expect(owned.sort()).toEqual([0, 1, 2, 3, 4, 5])
      if (assignor.rebalanceProtocol === 'cooperative') expect([...events].sort()).toEqual(['0-1', '0-3', '1-1'])
      world.good(members[2].close())
      world.env.advance(10_000)
      expect(counts().slice(0, 2)).toEqual([3, 3])
      clients[1].close()
      world.env.advance(20_000)
      expect(counts()[0]).toBe(6)
    },
  )

  it('commits by itself when told to, also before it gives partitions up', () => {
    const world = start()
    produce(world, 5)
    const first = join(world, {
      autoCommit: true,
      assignors: assignors.filter(each => each.name === 'cooperative-sticky'),
    })
    read(world, first, all => all.length >= 15)
    world.good(first.poll(0))
    const second = join(world, {
      autoCommit: true,
      assignors: assignors.filter(each => each.name === 'cooperative-sticky'),
    })
    world.env.advance(10_000)
    expect([first, second].map(each => each.member.owned.length).sort()).toEqual([1, 2])
    expect(world.good(second.poll(1000))).toEqual([])
    produce(world, 1)
    const records = [
      ...read(world, first, all => all.length >= first.member.owned.length),
      ...read(world, second, all => all.length >= second.member.owned.length),
    ]
    expect(records.map(each => each.offset)).toEqual([5, 5, 5])
  })

  it('keeps the partitions of a static member over a restart', () => {
    const world = start()
    const events: string[] = []
    const other = join(world, { listener: { revoked: () => void events.push('revoked') as undefined } })
    world.env.advance(5000)
    const before = join(world, { groupInstanceId: 'i' })
    world.env.advance(10_000)
    const owned = before.member.owned
    expect([owned.length, other.member.owned.length].sort()).toEqual([1, 2])
    events.length = 0
    const generation = before.member.generation
    world.good(before.close())
    world.env.advance(5000)
    const after = join(world, { groupInstanceId: 'i' })
    world.env.advance(5000)
    expect(after.member).toMatchObject({ owned, generation, status: 'stable' })
    expect(events).toEqual([])
  })

  it('works when connections break all the time', () => {
    const world = start()
    produce(world, 20)
    const members = [join(world, { sessionTimeoutMs: 10_000 }), join(world, { sessionTimeoutMs: 10_000 })]
    for (let round = 0; round < 40; round++) {
      world.env.advance(317)
      world.transport.breakAll()
    }
    world.env.advance(30_000)
    expect(members.map(each => each.member.owned.length).sort()).toEqual([1, 2])
    const records = members.flatMap(member => read(world, member, all => all.length >= 20 * member.member.owned.length))
    expect(records.length).toBe(60)
  })

  it('speaks every version of the group APIs', () => {
    const world = start()
    produce(world, 1)
    for (let version = 0; version <= 10; version++) {
      const least = (min: number, max: number) => Math.max(min, Math.min(version, max))
      const maxVersions = {
        FindCoordinator: least(0, 6),
        JoinGroup: least(0, 9),
        SyncGroup: least(0, 5),
        Heartbeat: least(0, 4),
        LeaveGroup: least(0, 5),
        OffsetCommit: least(2, 10),
        OffsetFetch: least(1, 10),
      }
      const client = world.connect({ maxVersions })
      const options = { groupId: `v${version}`, topics: ['orders'], autoOffsetReset: 'earliest' } as const
      const consumer = new GroupConsumer(client, options)
      expect(read(world, consumer, all => all.length >= 3).length).toBe(3)
      world.env.advance(6000)
      world.good(consumer.commit())
      const tps = [0, 1, 2].map(partition => ({ topic: 'orders', partition }))
      expect([...world.good(consumer.member.committed(tps)).values()].map(each => each.offset)).toEqual([1, 1, 1])
      world.good(consumer.close())
      client.close()
    }
  })

  it('leaves no timer and no connection behind', () => {
    const world = start()
    produce(world, 3)
    let timers = 0
    const env: Env = {
      now: () => world.env.now(),
      random: () => world.env.random(),
      turns: world.env.turns,
      log() {},
      timer(ms, run) {
        timers++
        let over = false
        const end = () => {
          if (!over) timers--
          over = true
        }
        const timer = world.env.timer(ms, () => {
          end()
          run()
        })
        return {
          cancel() {
            end()
            timer.cancel()
          },
        }
      },
    }
    const client = world.connect({ env })
    const consumer = new GroupConsumer(client, { groupId: 'g', topics: ['orders'], autoOffsetReset: 'earliest' })
    expect(read(world, consumer, all => all.length >= 9).length).toBe(9)
    world.good(new Producer(client).send({ topic: 'orders', value: null }))
    expect([timers > 0, world.transport.channels > 0]).toEqual([true, true])
    world.good(consumer.close())
    client.close()
    world.env.advance(1000)
    expect([timers, world.transport.channels]).toEqual([0, 0])
  })
})

describe('administration', () => {
  it('creates, describes and deletes', () => {
    const world = start()
    const client = world.connect()
    const topic = { name: 'compact', partitions: 2, configs: { 'cleanup.policy': 'compact' } }
    const created = world.good(createTopics(client, [topic, { name: 'orders' }, { name: 'bad/name' }]))
    expect(created.get('compact')).toMatchObject({ ok: true, value: { partitions: 2, replicationFactor: 1 } })
    expect(created.get('orders')).toMatchObject({ ok: false, error: { code: 'TOPIC_ALREADY_EXISTS' } })
    expect(created.get('bad/name')).toMatchObject({ ok: false, error: { code: 'INVALID_TOPIC_EXCEPTION' } })
    const configs = world.good(
      describeConfigs(client, [
        { type: 'topic', name: 'compact', keys: ['cleanup.policy'] },
        { type: 'broker', name: '1' },
      ]),
    )
    expect(configs.get('topic:compact')).toMatchObject({
      ok: true,
      value: [{ name: 'cleanup.policy', value: 'compact' }],
    })
    expect(configs.get('broker:1')?.ok).toBe(true)
    expect(world.good(describeCluster(client))).toMatchObject({
      brokers: [{ brokerId: 1, host: 'localhost', port: 9092 }],
    })
    expect(world.good(deleteTopics(client, ['compact', 'nothing'])).get('nothing')).toMatchObject({
      error: { code: 'UNKNOWN_TOPIC_OR_PARTITION' },
    })
  })

  it('lists and describes groups', () => {
    const world = start()
    const client = world.connect()
    const consumer = new GroupConsumer(client, { groupId: 'g', topics: ['orders'] })
    world.env.advance(1000)
    expect(world.good(listGroups(client))).toMatchObject([
      { groupId: 'g', protocolType: 'consumer', groupState: 'Stable' },
    ])
    const described = world.good(describeGroups(client, ['g', 'nothing']))
    expect(described.get('g')).toMatchObject({
      ok: true,
      value: { groupState: 'Stable', members: [{ clientId: 'ottla' }] },
    })
    expect(described.get('nothing')).toMatchObject({ ok: true, value: { groupState: 'Dead' } })
    world.good(consumer.close())
    expect(world.good(listGroups(client, { states: ['Stable'] }))).toEqual([])
  })
})
