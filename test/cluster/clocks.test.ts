/** A broker whose clock is set back or goes ahead by itself takes part all the same. */
import { expect, it } from 'vitest'
import { NodeEnv } from '../../src/cluster/node-env.ts'
import { ClusterWorld } from './world.ts'

const HOUR_MS = 3_600_000

it.each([-HOUR_MS, HOUR_MS])(
  'a follower that waits to fetch again does so, though its clock was moved by %i ms',
  ms => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2]])
    world.cut(1, 2)
    expect(world.produced(1, 't', 'a', { acks: 1 })).toBe('NONE')
    world.env.advance(2000)
    expect(world.stored(2, 't')).toEqual([])
    const { env } = world.cluster.broker(2)
    if (!(env instanceof NodeEnv)) throw new Error('it has no clock of its own')
    env.clockOffsetMs += ms
    world.heal()
    world.env.advance(10_000)
    expect(world.stored(2, 't')).toEqual(['a'])
  },
)
