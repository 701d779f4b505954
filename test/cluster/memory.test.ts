/** Replicas in the memory of one process hold the same bytes, and none harms another. */

import { expect, it } from 'vitest'
import { MemoryMeter } from '../../src/storage/memory-meter.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { ClusterWorld } from './world.ts'

const LARGE = 'x'.repeat(100_000)

it('three replicas take about the room of one', () => {
  const used = (replicas: number[]) => {
    const env = new VirtualEnv()
    const meter = new MemoryMeter()
    const storage = () => new MemoryStorage({ turns: env.turns, meter })
    const world = new ClusterWorld({}, { env, storage })
    world.topic('t', [replicas])
    const before = meter.used
    for (let index = 0; index < 50; index++) expect(world.produced(1, 't', LARGE)).toBe('NONE')
    for (const id of replicas) expect(world.stored(id, 't')).toHaveLength(50)
    return meter.used - before
  }
  const one = used([1])
  expect(one).toBeGreaterThan(50 * LARGE.length)
  expect(used([1, 2, 3])).toBeLessThan(1.5 * one)
})

it('what one cuts off, and writes anew, the others keep', () => {
  const world = new ClusterWorld()
  world.topic('t', [[1, 2, 3]])
  world.produced(1, 't', `a${LARGE}`)
  // Broker 2 has what broker 3 lacks, and then leads without it.
  world.cut(1, 3)
  world.produce(1, 't', `b${LARGE}`)
  world.cluster.node(1).kill()
  world.cluster.node(2).pause()
  world.env.advance(10_000)
  expect(world.partition('t').leader).toBe(3)
  world.produced(3, 't', `c${LARGE}`)
  expect(world.stored(2, 't').map(value => value[0])).toEqual(['a', 'b'])
  world.cluster.node(2).resume()
  world.cluster.node(1).start()
  world.heal()
  world.env.advance(5000)
  for (const id of [1, 2, 3]) expect(world.stored(id, 't').map(value => value[0])).toEqual(['a', 'c'])
})
