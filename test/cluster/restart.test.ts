/** What becomes of a broker that starts again and has not all it had, or before the cluster noticed that it was gone. */
import { describe, expect, it } from 'vitest'
import { CONTROLLER } from '../../src/cluster/network.ts'
import { produce as produceApi } from '../../src/protocol/apis/produce.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import { utf8Encode } from '../../src/util/utf8.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform } from '../broker/harness.ts'
import { ClusterWorld, keptStorages } from './world.ts'

const SESSION_MS = 9000

describe('a leader that starts again at once', () => {
  it.each([{ powerLoss: true }, { powerLoss: false }])('serves nobody until it is let in: %o', ({ powerLoss }) => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    for (const value of ['a', 'b', 'c']) expect(world.produced(1, 't', value)).toBe('NONE')
    world.cluster.node(1).kill({ powerLoss })
    world.cluster.node(1).start()
    world.env.settle()
    expect(world.partition('t').leader).toBe(1)
    const answer = world.produce(1, 't', 'd', { timeoutMs: 120_000 })
    world.env.advance(SESSION_MS / 2)
    // Not to clients, and not to followers, whose logs would be cut to what is left of its own.
    expect(answer()).toBeUndefined()
    for (const id of [2, 3]) expect(world.stored(id, 't')).toEqual(['a', 'b', 'c'])
    world.env.advance(2 * SESSION_MS)
    expect(answer()).toBe('NOT_LEADER_OR_FOLLOWER')
    expect(world.produced(2, 't', 'e')).toBe('NONE')
    world.env.advance(SESSION_MS)
    expect(world.partition('t').isr.toSorted()).toEqual([1, 2, 3])
    for (const id of [1, 2, 3]) expect(world.stored(id, 't')).toEqual(['a', 'b', 'c', 'e'])
  })
})

/** What is in it outlives the process, as on a disk. */
class LastingStorage extends MemoryStorage {
  override readonly isVolatile = false as unknown as true
}

describe('a broker that has lost a segment of a compacted log in the middle, as a power cut may leave it', () => {
  const SEGMENT = 't-0/00000000000000000001.log'

  function compacted() {
    const env = new VirtualEnv()
    const { storages, storage } = keptStorages(() => new LastingStorage({ turns: env.turns }))
    const world = new ClusterWorld({ 'log.cleaner.enable': 'false' }, { env, storage })
    world.topic('t', [[1, 2]], { 'cleanup.policy': 'compact', 'internal.segment.bytes': '80' })
    const produce = (value: string) => {
      const record = { key: utf8Encode(value), value: utf8Encode(value), timestamp: env.now() }
      const records = buildBatch({ records: [record], crc32c: platform.crc32c })
      const topicData = [{ name: 't', partitionData: [{ index: 0, records }] }]
      const answer = world.to(1).call(produceApi, 9, { acks: -1, timeoutMs: 1000, topicData })
      expect(answer.responses[0].partitionResponses[0].errorCode).toBe(0)
    }
    for (const value of ['a', 'b', 'c']) produce(value)
    const lose = (id: number) => storages[id - 1].open(SEGMENT).truncate(0)
    return { world, produce, lose }
  }

  it('gets it again from the leader', () => {
    const { world, lose } = compacted()
    world.cluster.node(2).kill()
    lose(2)
    world.env.advance(2 * SESSION_MS)
    world.cluster.node(2).start()
    world.env.advance(SESSION_MS)
    expect(world.partition('t').isr).toEqual([1, 2])
    expect(world.stored(2, 't')).toEqual(['a', 'b', 'c'])
  })

  it('cuts nothing while it knows no more than that it was in sync before', () => {
    const { world, lose } = compacted()
    world.cluster.node(2).kill()
    lose(2)
    // It hears from the controller, which does not hear from it.
    world.cluster.network.cut(2, CONTROLLER)
    world.cluster.node(2).start()
    world.env.advance(100)
    expect(world.partition('t').isr).toEqual([1, 2])
    expect(world.stored(2, 't')).toEqual(['a', 'c'])
    world.cluster.network.heal(2, CONTROLLER)
    world.env.advance(2 * SESSION_MS)
    expect(world.partition('t').isr).toEqual([1, 2])
    expect(world.stored(2, 't')).toEqual(['a', 'b', 'c'])
  })

  it('goes on with what there is when it leads', () => {
    const { world, produce, lose } = compacted()
    world.cluster.node(2).kill()
    world.env.advance(2 * SESSION_MS)
    produce('d')
    world.cluster.node(1).kill()
    lose(1)
    world.env.advance(2 * SESSION_MS)
    world.cluster.node(1).start()
    world.env.advance(SESSION_MS)
    expect(world.partition('t')).toMatchObject({ leader: 1 })
    expect(world.stored(1, 't')).toEqual(['a', 'c', 'd'])
    // What it takes from clients now stays, whoever leads later.
    expect(world.log(1, 't').doubtfulFrom).toBeUndefined()
    world.cluster.node(2).start()
    world.env.advance(SESSION_MS)
    expect(world.stored(2, 't').at(-1)).toBe('d')
    expect(world.partition('t').isr).toEqual([1, 2])
  })
})
