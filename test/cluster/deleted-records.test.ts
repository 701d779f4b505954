/** DeleteRecords is answered once what was deleted is deleted on the disks of all brokers that live, and no later. */

import { expect, it } from 'vitest'
import { CHECKPOINT_FILES } from '../../src/log/root-files.ts'
import { deleteRecords } from '../../src/protocol/apis/delete-records.ts'
import { errorName } from '../../src/protocol/errors.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import type { StorageFailure } from '../../src/storage/storage.ts'
import { Later } from '../../src/util/later.ts'
import type { Turns } from '../../src/util/turns.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { ClusterWorld, keptStorages } from './world.ts'

const FETCH_WAIT_MS = 20_000

/** As on a disk, which may take its time to write down where logs begin, or have no room for it. */
class SlowStorage extends MemoryStorage {
  override readonly isVolatile = false as unknown as true
  readonly #turns: Turns
  held: (() => void)[] | undefined
  isFull = false

  constructor(turns: Turns) {
    super({ turns })
    this.#turns = turns
  }

  override replace(path: string, bytes: Uint8Array): Later<StorageFailure | undefined> {
    if (path !== CHECKPOINT_FILES.logStartOffset) return super.replace(path, bytes)
    if (this.isFull) return Later.of<StorageFailure | undefined>(this.#turns, { code: 'NO_SPACE', message: 'ENOSPC' })
    if (this.held === undefined) return super.replace(path, bytes)
    const written = new Later<StorageFailure | undefined>(this.#turns)
    this.held.push(() => super.replace(path, bytes).whenSettled(failure => written.settle(failure)))
    return written
  }

  release(): void {
    const held = this.held ?? []
    this.held = undefined
    for (const write of held) write()
  }
}

/** Two replicas of three records; the follower is broker 2. */
function replicated() {
  const env = new VirtualEnv()
  const { storages, storage } = keptStorages(() => new SlowStorage(env.turns))
  const world = new ClusterWorld({ 'replica.fetch.wait.max.ms': String(FETCH_WAIT_MS) }, { env, storage })
  world.topic('t', [[1, 2]])
  for (const value of ['a', 'b', 'c']) expect(world.produced(1, 't', value)).toBe('NONE')
  // The last fetch said that the follower has everything, and waits for more.
  env.advance(FETCH_WAIT_MS + 1)
  const deleteBefore = (offset: number) => {
    const topics = [{ name: 't', partitions: [{ partitionIndex: 0, offset }] }]
    const answered = world.to(1).send(deleteRecords, 2, { topics, timeoutMs: 3 * FETCH_WAIT_MS })
    return () => {
      const part = answered()?.topics[0].partitions[0]
      return part && { error: errorName(part.errorCode), lowWatermark: part.lowWatermark }
    }
  }
  const [leader, follower] = storages
  return { env, world, deleteBefore, leader, follower }
}

it('waits for the disk of a follower, and then not for its next fetch', () => {
  const { env, world, deleteBefore, follower } = replicated()
  follower.held = []
  const answer = deleteBefore(2)
  // The follower hears of it with the answer to the fetch that waits at the leader.
  env.advance(FETCH_WAIT_MS)
  expect(world.log(2, 't').logStartOffset).toBe(2)
  env.advance(FETCH_WAIT_MS / 2)
  expect(answer()).toBeUndefined()
  follower.release()
  env.settle()
  expect(answer()).toEqual({ error: 'NONE', lowWatermark: 2 })
})

it('waits for the disk of the leader', () => {
  const { env, deleteBefore, leader } = replicated()
  leader.held = []
  const answer = deleteBefore(2)
  env.advance(1.5 * FETCH_WAIT_MS)
  expect(answer()).toBeUndefined()
  leader.release()
  env.settle()
  expect(answer()).toEqual({ error: 'NONE', lowWatermark: 2 })
})

it('times out while the disk of a follower is full, and is done as soon as there is room', () => {
  const { env, world, deleteBefore, follower } = replicated()
  follower.isFull = true
  const answer = deleteBefore(2)
  env.advance(3 * FETCH_WAIT_MS)
  expect(answer()).toEqual({ error: 'REQUEST_TIMED_OUT', lowWatermark: 0 })
  expect(world.log(2, 't').logStartOffset).toBe(2)
  follower.isFull = false
  const again = deleteBefore(3)
  env.advance(FETCH_WAIT_MS)
  env.settle()
  expect(again()).toEqual({ error: 'NONE', lowWatermark: 3 })
})
