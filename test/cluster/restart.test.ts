/** A broker that starts again before the cluster noticed that it was gone: the controller still has it as leader, and its log is another. */
import { describe, expect, it } from 'vitest'
import { ClusterWorld } from './world.ts'

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
