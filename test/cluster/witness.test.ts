/** What brokers can tell of their replicas in moments in which they know little themselves. */

import { expect, it } from 'vitest'
import { Losses } from '../../src/cluster/losses.ts'
import { CONTROLLER } from '../../src/cluster/network.ts'
import { Timeline } from '../../src/cluster/timeline.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { ClusterWorld } from './world.ts'

it('nothing is named as lost where somebody leads who has begun again, and does not know its replicas yet', () => {
  const env = new VirtualEnv()
  const timeline = new Timeline(() => env.now())
  const world = new ClusterWorld({}, { env, onRecord: (record, image) => timeline.record(record, image) })
  const losses = new Losses(world.cluster, timeline)
  const end = (id: number) => {
    losses.ending(id)
    world.cluster.node(id).kill()
  }
  world.topic('t', [[1, 2]])
  for (const value of ['a', 'b']) expect(world.produced(1, 't', value)).toBe('NONE')
  env.advance(2000)
  end(1)
  env.advance(7000)
  end(2)
  world.cut(2, CONTROLLER)
  world.cluster.node(2).start()
  env.advance(4000)
  // The controller does not know yet that broker 2 has died, too.
  expect(world.partition('t').leader).toBe(2)
  world.heal()
  env.advance(30_000)
  expect(world.consumed(2, 't').values).toEqual(['a', 'b'])
  expect(timeline.events.filter(({ type }) => type === 'lost')).toEqual([])
})
