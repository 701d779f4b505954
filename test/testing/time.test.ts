import { describe, expect, it } from 'vitest'
import type { RunningBroker } from '../../src/node/index.ts'
import { adminOf, consumerOf, producerOf, start, until } from './support.ts'

async function partitionOf(broker: RunningBroker, topic: string) {
  const { topics } = await broker.describe()
  return topics.find(({ name }) => name === topic)?.partitions[0]
}

async function groupOf(broker: RunningBroker, groupId: string) {
  const { groups } = await broker.describe()
  return groups.find(group => group.groupId === groupId)
}

describe.each([
  ['in this thread', false],
  ['in a worker thread', true],
])('time that tests move, %s', (_, worker) => {
  it('drops what retention no longer keeps, while clients go on and members keep their sessions', async () => {
    const broker = await start({ time: 'virtual', worker, topics: ['orders:1'] })
    const producer = await producerOf(broker)
    const { values } = await consumerOf(broker, { groupId: 'billing', topic: 'orders' })
    await producer.send({ topic: 'orders', messages: [{ value: 'old' }] })
    await until(() => values.includes('old'), 'the old record')
    const before = await groupOf(broker, 'billing')

    const now = await broker.now()
    await broker.advance('6d')
    expect((await broker.now()) - now).toBeGreaterThanOrEqual(6 * 86_400_000)
    expect(await partitionOf(broker, 'orders')).toMatchObject({ logStartOffset: 0, logEndOffset: 1 })
    await broker.advance('1d1h')
    expect(await partitionOf(broker, 'orders')).toMatchObject({ logStartOffset: 1, logEndOffset: 1 })

    // Its client's clock says that this record is a week old; by the broker's it is new.
    await producer.send({ topic: 'orders', messages: [{ value: 'new' }] })
    await until(() => values.includes('new'), 'the new record')
    await broker.advance('1h')
    expect(await partitionOf(broker, 'orders')).toMatchObject({ logStartOffset: 1, logEndOffset: 2 })
    const { state, generationId, members } = (await groupOf(broker, 'billing')) ?? {}
    expect({ state, generationId, members }).toEqual({
      state: 'Stable',
      generationId: before?.generationId,
      members: before?.members,
    })
  })
})

describe('time that tests move', () => {
  it('ends sessions when it is asked to, and the members come back', async () => {
    const broker = await start({ time: 'virtual', topics: ['orders:1'] })
    const producer = await producerOf(broker)
    const { values } = await consumerOf(broker, { groupId: 'billing', topic: 'orders' })
    await until(async () => (await groupOf(broker, 'billing'))?.state === 'Stable', 'a stable group')
    const [before] = (await groupOf(broker, 'billing'))?.members ?? []
    await broker.advance('2m', { sessions: true })
    expect((await groupOf(broker, 'billing'))?.members).toEqual([])
    await producer.send({ topic: 'orders', messages: [{ value: 'after' }] })
    const memberId = async () => (await groupOf(broker, 'billing'))?.members[0]?.memberId ?? before.memberId
    await until(async () => (await memberId()) !== before.memberId, 'a new member')
    await until(() => values.includes('after'), 'a record after the session ended')
  })

  it('expires the offsets of a group that nobody is in', async () => {
    const broker = await start({ time: 'virtual', topics: ['orders:1'] })
    const admin = await adminOf(broker)
    await admin.setOffsets({ groupId: 'billing', topic: 'orders', partitions: [{ partition: 0, offset: '0' }] })
    await broker.advance('6d23h')
    expect((await groupOf(broker, 'billing'))?.offsets).toHaveLength(1)
    await broker.advance('2h')
    expect(await groupOf(broker, 'billing')).toBeUndefined()
  })

  it('says what is wrong', async () => {
    const broker = await start({ time: 'virtual' })
    await expect(broker.advance('a week')).rejects.toMatchObject({ code: 'OTTLA_INVALID_OPTION' })
    const real = await start()
    await expect(real.advance('1d')).rejects.toMatchObject({
      code: 'OTTLA_WRONG_MODE',
      hint: "start it with the option time: 'virtual'",
    })
    await expect(start({ time: 'slow' as never })).rejects.toMatchObject({ code: 'OTTLA_INVALID_OPTION' })
  })
})
