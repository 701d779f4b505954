/** A follower whose disk is full follows again once there is room. */

import { expect, it } from 'vitest'
import { LogWitness } from '../../src/cluster/witness.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import { StorageError } from '../../src/storage/storage.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { ClusterWorld, keptStorages } from './world.ts'

/** Nothing new can be made in it as long as it is full. */
class FullStorage extends MemoryStorage {
  isFull = false

  override open(path: string, options?: Parameters<MemoryStorage['open']>[1]) {
    if (this.isFull && options?.create && !this.exists(path)) throw new StorageError('NO_SPACE', `ENOSPC: ${path}`)
    return super.open(path, options)
  }
}

/** Broker 2 has no room for a replica that it is to have. */
function full() {
  const env = new VirtualEnv()
  const { storages, storage } = keptStorages(() => new FullStorage({ turns: env.turns }))
  const world = new ClusterWorld({}, { env, storage })
  world.topic('t', [[1]])
  expect(world.produced(1, 't', 'a')).toBe('NONE')
  storages[1].isFull = true
  expect(world.reassign('t', [1, 2])).toBe('NONE')
  env.advance(10_000)
  expect(world.partition('t').isr).toEqual([1])
  return { env, world, storage: storages[1] }
}

it('a replica for which there was no room is made later, and nothing else has to happen for that', () => {
  const { env, world, storage } = full()
  storage.isFull = false
  env.advance(10_000)
  expect(world.partition('t')).toMatchObject({ isr: [1, 2], addingReplicas: [] })
  expect(world.stored(2, 't')).toEqual(['a'])
})

it('who watches a replica for which there is no room opens no log, and is told once it leads', () => {
  const { env, world, storage } = full()
  const topicId = world.cluster.image.topicsByName.get('t')?.topicId as string
  const told: number[] = []
  const witness = new LogWitness(env.turns, world.cluster.broker(2))
  witness.watch({ topicId, partitionId: 0, untilLeaderEpoch: 99 }, highWatermark => told.push(highWatermark))
  expect(told).toEqual([])
  storage.isFull = false
  env.advance(10_000)
  expect(world.reassign('t', [2])).toBe('NONE')
  env.advance(10_000)
  expect(world.produced(2, 't', 'b')).toBe('NONE')
  expect(told).toEqual([2])
})
