import { describe, expect, it } from 'vitest'
import { adminOf, consumerOf, producerOf, start, startThree, until } from './support.ts'

describe.each([
  ['in this thread', (topics: string[]) => start({ topics })],
  ['in a worker thread', (topics: string[]) => start({ topics, worker: true })],
  ['in a cluster', (topics: string[]) => startThree({ topics })],
  ['in a cluster in worker threads', (topics: string[]) => startThree({ topics, workers: true })],
])('faults on demand, %s', (_, begin) => {
  it('lose an acknowledgement: the producer sends again, and the record is there twice', async () => {
    const broker = await begin(['orders:1'])
    const producer = await producerOf(broker)
    const fault = await broker.fault({ api: 'Produce', topic: 'orders', drop: true, acted: true, times: 1 })
    await producer.send({ topic: 'orders', messages: [{ value: 'paid' }] })
    const { values } = await consumerOf(broker, { groupId: 'billing', topic: 'orders' })
    await until(() => values.length === 2, 'both records')
    expect(values).toEqual(['paid', 'paid'])
    expect(await fault.count()).toBe(1)
    expect(await broker.requests({ api: 'Produce', failed: true })).toMatchObject([{ fault: 'dropped once acted' }])
  })

  it('hold requests at a gate', async () => {
    const broker = await begin(['orders:1'])
    const producer = await producerOf(broker)
    const gate = await broker.hold({ api: 'Produce', topic: 'orders' })
    let sent = 0
    const sends = ['a', 'b'].map(value =>
      producer.send({ topic: 'orders', messages: [{ value }] }).then(() => {
        sent++
      }),
    )
    await gate.arrived(1)
    expect([await gate.held(), sent]).toEqual([1, 0])
    await expect(gate.arrived(5, { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'OTTLA_TIMEOUT',
      message: 'waited 20 ms for 5 requests at the gate; there is 1',
    })
    expect(await gate.release(1)).toBe(1)
    await gate.arrived(1)
    expect(await gate.release()).toBe(1)
    await Promise.all(sends)
    expect(sent).toBe(2)
    await gate.end()
  })
})

describe('faults on demand', () => {
  it('move leaders and coordinators under clients that go on', async () => {
    const broker = await start({ topics: ['orders:2'] })
    const producer = await producerOf(broker)
    const { values } = await consumerOf(broker, { groupId: 'billing', topic: 'orders' })
    await producer.send({ topic: 'orders', messages: [{ value: 'before' }] })
    await until(() => values.includes('before'), 'a record')
    const moves = [await broker.leaderMoves('orders'), await broker.coordinatorMoves('billing')]
    await producer.send({ topic: 'orders', messages: [{ value: 'after' }] })
    await until(() => values.includes('after'), 'another record')
    await moves[1].met(1)
    expect(await moves[0].count()).toBeGreaterThan(0)
    const told = (await broker.requests()).flatMap(({ errorCodes }) => errorCodes)
    expect(told).toEqual(expect.arrayContaining(['NOT_LEADER_OR_FOLLOWER', 'NOT_COORDINATOR']))
    await producer.send({ topic: 'orders', messages: [{ value: 'last' }] })
    await until(() => values.includes('last'), 'the last record')
    // What was not committed when the coordinator moved may come twice: at least once.
    expect(new Set(values)).toEqual(new Set(['before', 'after', 'last']))
  })

  it('begin rebalances in the middle of the work', async () => {
    const broker = await start({ topics: ['orders:2'] })
    await consumerOf(broker, { groupId: 'billing', topic: 'orders' })
    const generation = async () => (await broker.describe()).groups.find(each => each.groupId === 'billing')
    await until(async () => (await generation())?.state === 'Stable', 'a stable group')
    const before = (await generation())?.generationId as number
    await broker.rebalanceStorm('billing', { times: 2, everyMs: 500 })
    const after = async () => (await generation())?.generationId as number
    await until(async () => (await after()) >= before + 2, 'two more generations')
  })

  it('hold answers of what was done', async () => {
    const broker = await start({ topics: ['orders:1'] })
    const producer = await producerOf(broker)
    const gate = await broker.hold({ api: 'Produce', topic: 'orders', acted: true })
    let answered = false
    const sent = producer.send({ topic: 'orders', messages: [{ value: 'a' }] }).then(() => {
      answered = true
    })
    await gate.arrived(1)
    const { topics } = await broker.describe()
    expect(topics.find(({ name }) => name === 'orders')?.partitions[0].logEndOffset).toBe(1)
    expect(answered).toBe(false)
    await gate.release()
    await sent
  })

  it('fill the disk, and empty it again', async () => {
    const broker = await start({ topics: ['orders:1'] })
    const producer = await producerOf(broker)
    const full = await broker.diskFull()
    const sent = producer.send({ topic: 'orders', messages: [{ value: 'patient' }] })
    await full.met(2)
    await expect(full.met(1000, { timeoutMs: 20 })).rejects.toThrow(
      /^waited 20 ms for 1000 requests that meet the fault; there is \d+$/,
    )
    await full.end()
    await sent
    expect((await broker.requests({ api: 'Produce' })).at(-1)?.errorCodes).toEqual([])
  })

  it('end with a reset, and refuse rules that cannot be', async () => {
    const broker = await start({ topics: ['orders:1'] })
    const fault = await broker.fault({ api: 'Produce', error: 'NOT_LEADER_OR_FOLLOWER' })
    await broker.reset()
    const producer = await producerOf(broker)
    await producer.send({ topic: 'orders', messages: [{ value: 'a' }] })
    expect(await fault.count()).toBe(0)
    await expect(broker.fault({ api: 'Produce', error: 'OOPS' as never })).rejects.toMatchObject({
      code: 'OTTLA_INVALID_OPTION',
      message: 'there is no error OOPS',
    })
    await broker.close()
    await fault.end()
  })

  it('end a wait when the broker is closed', async () => {
    const broker = await start()
    const gate = await broker.hold('Metadata')
    const waiting = gate.arrived(1).catch(error => error)
    await broker.close()
    expect(await waiting).toMatchObject({ code: 'OTTLA_BROKER_CLOSED' })
  })
})

it('traces requests with what they say', async () => {
  const broker = await start({ trace: true, topics: ['orders:1'] })
  const producer = await producerOf(broker)
  await producer.send({ topic: 'orders', messages: [{ value: 'a' }, { value: 'b' }] })
  const admin = await adminOf(broker)
  await admin.fetchOffsets({ groupId: 'billing', topics: ['orders'] })
  const [produce] = await broker.requests({ topic: 'orders', api: 'Produce' })
  expect(produce.request).toMatchObject({
    acks: -1,
    topicData: [
      { name: 'orders', partitionData: [{ index: 0, records: expect.stringMatching(/^<2 records, \d+ bytes>$/) }] },
    ],
  })
  expect(produce.response).toMatchObject({ responses: [{ partitionResponses: [{ errorCode: 0, baseOffset: 0 }] }] })
  const line = (text: string) => text.replace(/^\S+ #\d+ /, '').replace(/\d+ ms/, 'N ms')
  expect(line(await broker.trace({ api: 'Produce' }))).toBe(
    'producer Produce v7 timeoutMs=30000 orders[0 <2 records>] → orders[0@0] (N ms)',
  )
  const offsets = await broker.trace({ group: 'billing', api: 'OffsetFetch' })
  expect(line(offsets)).toMatch(/^admin OffsetFetch v\d+ groupId=billing orders\[0\] → /)
  expect(await broker.trace({ last: 1 })).toBe(offsets)
})
