import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  bytes,
  globalBroker,
  json,
  matchers,
  type OttlaMatchers,
  sharedBroker,
  startTestBroker,
  useBroker,
} from '../../src/testing/index.ts'
import { atEnd, consumerOf, producerOf } from './support.ts'

declare module 'vitest' {
  interface Matchers<T> extends OttlaMatchers {}
}

expect.extend(matchers)

const kafka = useBroker({ beforeAll, afterAll, beforeEach, afterEach }, { topics: ['orders:3'] })

describe('a topic', () => {
  it('takes and gives records as its serdes say', async () => {
    const { broker } = kafka
    const orders = broker.topic<unknown, string>('orders', { value: json })
    const [place] = await orders.produce({ key: 'a', value: { book: 1 }, headers: { trace: 't1' }, partition: 2 })
    expect(place).toEqual({ partition: 2, offset: 0 })
    await orders.produce({ key: 'a', value: null })
    const [order, tombstone] = await orders.records({ count: 2 })
    expect(order).toMatchObject({
      topic: 'orders',
      partition: 2,
      offset: 0,
      key: 'a',
      value: { book: 1 },
      headers: { trace: 't1' },
    })
    expect(tombstone.value).toBeNull()
    const [raw] = await broker.topic('orders', { value: bytes }).records()
    expect(Buffer.from(raw.value as Uint8Array).toString()).toBe('{"book":1}')
    const shouting = { serialize: () => new Uint8Array(), deserialize: (read: Uint8Array) => `${Buffer.from(read)}!` }
    expect((await broker.topic('orders', { value: shouting }).records())[0].value).toBe('{"book":1}!')
  })

  it('is as it was declared in each test', async () => {
    expect(await kafka.broker.topic('orders').records()).toEqual([])
  })

  it('has the records of a snapshot at once, before anybody read one', async () => {
    const { broker } = kafka
    const orders = broker.topic('orders')
    await orders.produce({ value: 'seed' })
    const seeded = await broker.snapshot()
    await orders.clear()
    await broker.restore(seeded)
    // Counted first, and read when there are enough.
    expect(await orders.records({ count: 1, timeoutMs: 2000 })).toHaveLength(1)
  })

  it('waits for what a client sends, and says what it saw instead', async () => {
    const { broker } = kafka
    const producer = await producerOf(broker)
    const waiting = broker.topic('orders').records({ count: 2 })
    await producer.send({ topic: 'orders', messages: [{ value: 'a' }, { value: 'b' }] })
    expect((await waiting).map(({ value }) => value).sort()).toEqual(['a', 'b'])
    await expect(broker.topic('orders').records({ count: 3, timeoutMs: 20 })).rejects.toMatchObject({
      code: 'OTTLA_TIMEOUT',
      message: 'waited 20 ms for 3 records in topic orders; there is 2',
    })
    await expect(broker.topic('order').records({ count: 1, timeoutMs: 20 })).rejects.toThrow(
      'waited 20 ms for 1 records in topic order; there is no such topic, but orders',
    )
  })

  it('is made when something is put in, and cleared', async () => {
    const { broker } = kafka
    const topic = broker.topic(broker.unique('made'))
    expect(await topic.records()).toEqual([])
    await topic.produce({ value: 'a' })
    await topic.clear()
    expect(await topic.records()).toEqual([])
    expect(await topic.produce({ value: 'b' })).toEqual([{ partition: 0, offset: 1 }])
    await broker.topic('wide').create({ partitions: 4 })
    const wide = (await broker.describe()).topics.find(({ name }) => name === 'wide')
    expect(wide?.partitions).toHaveLength(4)
  })

  it('reaches consumers', async () => {
    const { values } = await consumerOf(kafka.broker, { groupId: 'billing', topic: 'orders' })
    await kafka.broker.topic('orders').produce({ value: 'put in' })
    await vi.waitFor(() => expect(values).toEqual(['put in']), 10_000)
  })
})

describe('a group', () => {
  it('is waited for until it is stable, with who has what', async () => {
    const { broker } = kafka
    const group = broker.group('billing')
    await consumerOf(broker, { groupId: 'billing', topic: 'orders', clientId: 'one' })
    await consumerOf(broker, { groupId: 'billing', topic: 'orders', clientId: 'two' })
    await group.stable({ members: 2 })
    const members = await group.members()
    expect(members.map(({ clientId }) => clientId).sort()).toEqual(['one', 'two'])
    const assigned = members.flatMap(({ assignment }) => assignment.flatMap(({ partitions }) => partitions))
    expect(assigned.sort()).toEqual([0, 1, 2])
    await expect(group.stable({ members: 3, timeoutMs: 20 })).rejects.toThrow(
      /^waited 20 ms for group billing to be stable, of 3 members; there is a group that is Stable, generation \d+, 2 members \((one|two) with orders\[.+\]; /,
    )
  })

  it('is waited for until a rebalance is under way', async () => {
    const { broker } = kafka
    const group = broker.group('billing')
    await consumerOf(broker, { groupId: 'billing', topic: 'orders', clientId: 'one' })
    await group.stable({ members: 1 })
    await expect(group.rebalancing({ timeoutMs: 20 })).rejects.toThrow(
      /^waited 20 ms for group billing to be in a rebalance; there is a group that is Stable/,
    )
    const gate = await broker.hold({ api: 'JoinGroup', clientId: 'one' })
    const joining = consumerOf(broker, { groupId: 'billing', topic: 'orders', clientId: 'two' })
    expect((await group.rebalancing()).state).toBe('PreparingRebalance')
    await gate.release()
    await joining
    await group.stable({ members: 2 })
  })

  it('tells its lag, and is waited for until it has none', async () => {
    const { broker } = kafka
    await broker.topic('orders').produce(...['a', 'b', 'c', 'd'].map(value => ({ value })))
    const group = broker.group('billing')
    await expect(group.drained({ timeoutMs: 20 })).rejects.toThrow('there is no such group')
    const { consumer } = await consumerOf(broker, { groupId: 'billing', topic: 'orders' })
    await group.drained()
    expect(await group.lag()).toBe(0)
    await consumer.disconnect()
    await group.empty()
    await broker.topic('orders').produce({ value: 'e' }, { value: 'f' })
    expect([await group.lag(), await group.lag({ topic: 'orders' }), await group.lag({ topic: 'other' })]).toEqual([
      2, 2, 0,
    ])
  })

  it('does not keep members whose connections are gone, and lets go of others when told to', async () => {
    const { broker } = kafka
    await consumerOf(broker, { groupId: 'billing', topic: 'orders' })
    const [before] = (await broker.group('billing').stable()).members
    expect(await broker.group('billing').evict()).toBe(1)
    await vi.waitFor(async () => {
      const [after] = (await broker.group('billing').stable({ members: 1 })).members
      expect(after.memberId).not.toBe(before.memberId)
    }, 10_000)
    // The reset before the next test breaks its connection, as a crash would.
  })
})

describe('matchers', () => {
  it('wait until what is expected is so', async () => {
    const { broker } = kafka
    const producer = await producerOf(broker)
    const expected = expect(broker.topic('orders')).toHaveRecords(['one book'])
    await producer.send({ topic: 'orders', messages: [{ key: 'a', value: 'one book' }] })
    await expected
    await expect(broker.topic('orders')).toHaveRecords(1)
    await expect(broker.topic('orders')).toHaveRecords([{ key: 'a', value: expect.stringContaining('book') }])
    await expect(broker.topic('orders')).not.toHaveRecords(['two books'])
    await consumerOf(broker, { groupId: 'billing', topic: 'orders' })
    await expect(broker.group('billing')).toBeStable({ members: 1 })
    await expect(broker.group('billing')).toHaveLag(0)
  })

  it('say what there is instead', async () => {
    const { broker } = kafka
    await broker.topic('orders').produce({ value: 'a' })
    const quick = { timeoutMs: 20 }
    await expect(expect(broker.topic('orders')).toHaveRecords(['a', 'b'], quick)).rejects.toThrow(
      'topic orders should have ["a","b"], and has ["a"]',
    )
    await expect(expect(broker.topic('orders')).toHaveRecords([{ value: 'b' }], quick)).rejects.toThrow(
      'topic orders should have [{"value":"b"}], and has [{"value":"a"}]',
    )
    await expect(expect(broker.group('billing')).toHaveLag(1, quick)).rejects.toThrow(
      'group billing should have a lag of 1, and has 0',
    )
    await expect(expect(broker.group('billing')).toBeStable(quick)).rejects.toThrow('there is no such group')
    await expect(expect(broker).toHaveRecords(1)).rejects.toThrow('toHaveRecords is for broker.topic(…)')
  })
})

describe('the fixture', () => {
  /** Hooks that are called by hand. */
  function byHand() {
    const hooks: Record<string, (context?: unknown) => Promise<void>> = {}
    const hook = (name: string) => (run: () => Promise<void>) => {
      // Under jest a parameter would be a callback to call.
      expect(run).toHaveLength(0)
      hooks[name] = run
    }
    return {
      hooks,
      given: {
        before: hook('before'),
        after: hook('after'),
        beforeEach: hook('beforeEach'),
        afterEach: hook('afterEach'),
      },
    }
  }

  it('prints what clients last asked when a test has failed, as each runner tells it', async () => {
    const { hooks, given } = byHand()
    const use = useBroker(given)
    expect(() => use.broker).toThrow('in tests and hooks only')
    await hooks.before()
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {})
    try {
      await hooks.beforeEach()
      const producer = await producerOf(use.broker)
      await producer.disconnect()
      await hooks.afterEach({ task: { result: { state: 'pass' } } })
      await hooks.afterEach({ passed: true })
      await hooks.afterEach()
      expect(printed).not.toHaveBeenCalled()
      await hooks.afterEach({ task: { result: { state: 'fail' } } })
      await hooks.afterEach({ passed: false })
      const texts = printed.mock.calls.map(([text]) => String(text))
      expect(texts).toHaveLength(2)
      for (const text of texts)
        expect(text).toMatch(/^The last requests that reached the broker:\n[\s\S]*producer ApiVersions v/)
    } finally {
      printed.mockRestore()
      await hooks.after()
    }
  })

  it('uses the broker of the run where there is one, and leaves what others have in it', async () => {
    expect(await sharedBroker()).toBeUndefined()
    const { setup, teardown } = globalBroker({ topics: ['orders:1'] })
    await setup()
    atEnd(teardown)
    const { hooks, given } = byHand()
    const use = useBroker(given)
    await hooks.before()
    await use.broker.topic('orders').produce({ value: 'kept' })
    await hooks.beforeEach()
    await hooks.beforeEach()
    const other = await sharedBroker()
    expect((await other?.topic('orders').records())?.map(({ value }) => value)).toEqual(['kept'])
    await expect(use.broker.group('billing').stable({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'OTTLA_TIMEOUT' })
    await hooks.after()
    await teardown()
    expect(await sharedBroker()).toBeUndefined()
  })

  it.each([false, true])('gives each test names of its own where it does not reset, with worker: %s', async worker => {
    const broker = await startTestBroker({ worker })
    atEnd(() => broker.close())
    expect(broker.unique('orders')).toMatch(/^orders-[0-9a-f]{8}$/)
    expect(broker.unique('orders')).not.toBe(broker.unique('orders'))
    const topic = broker.topic(broker.unique('orders'))
    await topic.produce({ key: 'k', value: 'v' })
    expect(await topic.records({ count: 1 })).toMatchObject([{ key: 'k', value: 'v' }])
    expect(await broker.evictMembers()).toBe(0)
  })
})
