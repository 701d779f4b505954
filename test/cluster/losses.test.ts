/** The timeline names the acknowledged records that a cluster lost, and no others. */
import { describe, expect, it } from 'vitest'
import { Losses } from '../../src/cluster/losses.ts'
import { CONTROLLER } from '../../src/cluster/network.ts'
import { Timeline } from '../../src/cluster/timeline.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { ClusterWorld } from './world.ts'

const SESSION_MS = 9000
const LAG_MS = 30_000

function observed(configs: Record<string, string> = {}) {
  const env = new VirtualEnv()
  const timeline = new Timeline(() => env.now())
  const world = new ClusterWorld(configs, { env, onRecord: (record, image) => timeline.record(record, image) })
  const losses = new Losses(world.cluster, timeline)
  const lost = () => timeline.events.filter(event => event.type === 'lost')
  /** Leaves broker 1 alone in sync, with the only copy of `b`. */
  const isolate = () => {
    world.topic('t', [[1, 2, 3]], { 'unclean.leader.election.enable': 'true' })
    expect(world.produced(1, 't', 'a')).toBe('NONE')
    for (const id of [2, 3]) world.cut(1, id)
    const answer = world.produce(1, 't', 'b', { timeoutMs: 10 * LAG_MS })
    env.advance(2 * LAG_MS)
    expect(answer()).toBe('NONE')
    expect(world.partition('t').isr).toEqual([1])
  }
  return { env, world, timeline, losses, lost, isolate }
}

describe('losses', () => {
  it('are what the new leader of an unclean election lacks', () => {
    const { env, world, timeline, losses, lost, isolate } = observed()
    isolate()
    expect(world.produced(1, 't', 'c')).toBe('NONE')
    losses.ending(1)
    world.cluster.node(1).kill()
    env.advance(2 * SESSION_MS)
    expect(world.partition('t').leader).toBe(2)
    expect(lost()).toMatchObject([{ topic: 't', partition: 0, from: 1, to: 3, leader: 2 }])
    expect(timeline.render()).toContain('t-0 lost offsets 1 to 2: broker 2 leads without them')
    // The same offsets again are other records, which are not lost.
    world.heal()
    expect(world.produced(2, 't', 'd')).toBe('NONE')
    losses.ending(2)
    world.cluster.node(2).kill()
    env.advance(2 * SESSION_MS)
    expect(world.consumed(3, 't').values).toEqual(['a', 'd'])
    expect(lost()).toHaveLength(1)
  })

  it('are also what a leader acknowledges that nobody told of the new one', () => {
    const { env, world, lost, isolate } = observed()
    isolate()
    world.cut(1, CONTROLLER)
    env.advance(2 * SESSION_MS)
    expect(world.partition('t').leader).toBe(2)
    expect(lost()).toMatchObject([{ from: 1, to: 2, leader: 2 }])
    expect(world.produced(1, 't', 'c')).toBe('NONE')
    expect(lost()).toMatchObject([{}, { from: 2, to: 3, leader: 2 }])
    expect(world.produced(2, 't', 'd')).toBe('NONE')
    world.heal()
    env.advance(LAG_MS)
    expect(world.consumed(2, 't').values).toEqual(['a', 'd'])
    expect(lost()).toHaveLength(2)
  })

  it('are also what a leader shows that was not told in time that it leads', () => {
    // A follower hears of the high watermark with the next fetch: late, so that broker 2 has more than it knows to be replicated.
    const { env, world, lost } = observed({ 'replica.fetch.wait.max.ms': '20000' })
    world.topic('t', [[1, 2, 3]], { 'unclean.leader.election.enable': 'true' })
    world.cut(1, 3)
    const answer = world.produce(1, 't', 'a', { timeoutMs: 10 * LAG_MS })
    env.advance(2 * LAG_MS)
    expect([answer(), world.partition('t').isr]).toEqual(['NONE', [1, 2]])
    expect(world.produced(1, 't', 'b')).toBe('NONE')
    world.cluster.node(1).kill()
    env.advance(3000)
    world.cluster.node(2).pause()
    env.advance(2 * SESSION_MS)
    expect(world.partition('t')).toMatchObject({ leader: 3, leaderEpoch: 2 })
    expect(lost()).toMatchObject([{ from: 0, to: 1, leader: 3 }])
    // Now it hears that it led, alone in sync, and only then of the one after it.
    world.cluster.node(2).resume()
    env.advance(SESSION_MS)
    expect(lost()).toMatchObject([{}, { from: 1, to: 2, leader: 3 }])
    expect(world.consumed(3, 't').values).toEqual([])
  })

  it('are also what a leader acknowledged while nobody was elected in its place', () => {
    const { env, world, lost, isolate } = observed()
    isolate()
    for (const id of [2, 3]) world.cluster.node(id).kill()
    env.advance(2 * SESSION_MS)
    world.cut(1, CONTROLLER)
    env.advance(2 * SESSION_MS)
    expect(world.partition('t').leader).toBe(-1)
    expect(world.produced(1, 't', 'c')).toBe('NONE')
    world.cluster.node(2).start()
    env.advance(2 * SESSION_MS)
    expect(world.partition('t').leader).toBe(2)
    expect(lost()).toMatchObject([{ from: 1, to: 3, leader: 2 }])
    expect(world.produced(1, 't', 'd')).toBe('NONE')
    expect(lost()).toMatchObject([{}, { from: 3, to: 4, leader: 2 }])
  })

  it('are also what a leader acknowledges that was replaced twice, and heard of neither', () => {
    const { env, world, lost } = observed({ 'broker.heartbeat.interval.ms': '1000' })
    world.topic('t', [[1, 2, 3]], { 'unclean.leader.election.enable': 'true' })
    expect(world.produced(1, 't', 'a')).toBe('NONE')
    world.cluster.node(3).kill()
    env.advance(2 * LAG_MS)
    expect(world.partition('t').isr).toEqual([1, 2])
    world.cut(1, CONTROLLER)
    env.advance(SESSION_MS / 2)
    world.cut(2, CONTROLLER)
    env.advance(2 * SESSION_MS)
    expect(world.partition('t')).toMatchObject({ leader: -1, elr: [2], leaderEpoch: 2 })
    world.cluster.node(3).start()
    env.advance(SESSION_MS)
    expect(world.partition('t').leader).toBe(3)
    expect(lost()).toEqual([])
    // Broker 2 heard of nothing either, and follows broker 1.
    expect(world.produced(1, 't', 'b')).toBe('NONE')
    expect(lost()).toMatchObject([{ from: 1, to: 2, leader: 3 }])
  })

  it('are what the new leader has other records for, too', () => {
    const { env, world, losses, lost } = observed()
    world.topic('t', [[1, 2, 3]], { 'unclean.leader.election.enable': 'true' })
    expect(world.produced(1, 't', 'a')).toBe('NONE')
    world.part([1], [2, 3])
    for (const value of ['b', 'c', 'd']) expect(world.produced(1, 't', value, { acks: 1 })).toBe('NONE')
    env.advance(2 * SESSION_MS)
    expect(world.partition('t')).toMatchObject({ leader: 2, isr: [2, 3] })
    for (const value of ['e', 'f']) expect(world.produced(2, 't', value)).toBe('NONE')
    for (const id of [2, 3]) {
      losses.ending(id)
      world.cluster.node(id).kill()
    }
    env.advance(2 * SESSION_MS)
    // Now it hears that it is no leader, and has nobody from whom it could learn what it lacks.
    world.heal()
    env.advance(2 * SESSION_MS)
    expect(world.partition('t').leader).toBe(1)
    expect(world.consumed(1, 't').values).toEqual(['a', 'b', 'c', 'd'])
    expect(lost()).toMatchObject([{ topic: 't', partition: 0, from: 1, to: 3, leader: 1 }])
  })

  it('are everything where somebody leads who has only just got a replica, and has not heard of it', () => {
    const { env, world, losses, lost } = observed()
    world.topic('t', [[1]], { 'unclean.leader.election.enable': 'true' })
    for (const value of ['a', 'b']) expect(world.produced(1, 't', value)).toBe('NONE')
    losses.ending(1)
    world.cluster.node(1).kill()
    env.advance(2 * SESSION_MS)
    world.cut(2, CONTROLLER)
    expect(world.reassign('t', [2, 1], 3)).toBe('NONE')
    // It was killed, and may have lost what it had: somebody else is elected.
    world.cluster.node(1).start()
    env.advance(1000)
    expect(world.partition('t').leader).toBe(2)
    expect(lost()).toMatchObject([{ topic: 't', partition: 0, from: 0, to: 2, leader: 2 }])
  })

  it('are none when somebody leads who was in sync', () => {
    const { env, world, losses, lost } = observed()
    world.topic('t', [[1, 2, 3]])
    for (const value of ['a', 'b']) expect(world.produced(1, 't', value)).toBe('NONE')
    losses.ending(1)
    world.cluster.node(1).kill({ powerLoss: true })
    env.advance(2 * SESSION_MS)
    expect(world.partition('t').leader).toBe(2)
    expect(world.consumed(2, 't').values).toEqual(['a', 'b'])
    expect(lost()).toEqual([])
  })
})
