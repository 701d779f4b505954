/** What happens to records when followers fall behind, leaders die, and links break. */

import { describe, expect, it } from 'vitest'
import { CONTROLLER } from '../../src/cluster/network.ts'
import { ClusterWorld } from './world.ts'

const SESSION_MS = 9000
const LAG_MS = 30_000

describe('a replicated partition', () => {
  it('has acknowledged records on every in-sync replica', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    expect(world.produced(1, 't', 'a')).toBe('NONE')
    expect(world.produced(1, 't', 'b')).toBe('NONE')
    for (const id of [1, 2, 3]) expect(world.stored(id, 't')).toEqual(['a', 'b'])
    expect(world.consumed(1, 't')).toEqual({ error: 'NONE', highWatermark: 2, values: ['a', 'b'] })
    expect(world.partition('t')).toMatchObject({ leader: 1, isr: [1, 2, 3], leaderEpoch: 0 })
  })

  it('refuses clients at followers', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    expect(world.produced(2, 't', 'a')).toBe('NOT_LEADER_OR_FOLLOWER')
  })

  it('does not acknowledge what an in-sync replica lacks, until that leaves the in-sync replicas', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    expect(world.produced(1, 't', 'a')).toBe('NONE')
    world.cut(1, 3)
    const answer = world.produce(1, 't', 'b', { timeoutMs: 120_000 })
    world.env.advance(LAG_MS - 1000)
    expect(answer()).toBeUndefined()
    expect(world.consumed(1, 't').values).toEqual(['a'])
    world.env.advance(LAG_MS)
    expect(answer()).toBe('NONE')
    expect(world.partition('t').isr).toEqual([1, 2])
    world.heal()
    world.env.advance(5000)
    expect(world.partition('t').isr).toEqual([1, 2, 3])
    expect(world.stored(3, 't')).toEqual(['a', 'b'])
  })

  it('times out when an in-sync replica does not fetch; the record stays', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2]])
    world.cut(1, 2)
    const answer = world.produce(1, 't', 'a', { timeoutMs: 100 })
    world.env.advance(100)
    expect(answer()).toBe('REQUEST_TIMED_OUT')
    expect(world.stored(1, 't')).toEqual(['a'])
    expect(world.consumed(1, 't').values).toEqual([])
  })

  it('is followed by somebody new where its log begins within a batch', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2]])
    expect(world.produced(1, 't', ['a', 'b', 'c'])).toBe('NONE')
    expect(world.deleted(1, 't', 2)).toEqual({ error: 'NONE', lowWatermark: 2 })
    world.reassign('t', [1, 2, 3])
    world.env.advance(5000)
    expect(world.partition('t').isr).toEqual([1, 2, 3])
    // The batch is there as a whole, and what is deleted of it is deleted.
    for (const id of [1, 2, 3]) expect(world.log(id, 't')).toMatchObject({ logStartOffset: 2, logEndOffset: 3 })
    expect(world.stored(3, 't')).toEqual(['a', 'b', 'c'])
    expect(world.produced(1, 't', 'd')).toBe('NONE')
    expect(world.log(3, 't')).toMatchObject({ logStartOffset: 2, logEndOffset: 4 })
  })

  it('is followed by somebody with another history where its log begins within a batch', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    world.part([1], [2, 3])
    for (const value of ['lost 0', 'lost 1', 'lost 2', 'lost 3']) world.produced(1, 't', value, { acks: 1 })
    world.env.advance(2 * SESSION_MS)
    for (const values of [
      ['a', 'b'],
      ['c', 'd'],
    ])
      expect(world.produced(2, 't', values)).toBe('NONE')
    expect(world.deleted(2, 't', 3)).toEqual({ error: 'NONE', lowWatermark: 3 })
    world.heal()
    world.env.advance(5000)
    expect(world.partition('t').isr.toSorted()).toEqual([1, 2, 3])
    for (const id of [1, 2, 3]) expect(world.log(id, 't')).toMatchObject({ logStartOffset: 3, logEndOffset: 4 })
    expect(world.stored(1, 't')).toEqual(['c', 'd'])
  })

  it('keeps the high watermark where it is while too few are in sync, whatever the acks', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]], { 'min.insync.replicas': '2' })
    expect(world.produced(1, 't', 'a')).toBe('NONE')
    world.cluster.node(2).kill()
    world.cluster.node(3).kill()
    world.env.advance(2 * SESSION_MS)
    expect(world.partition('t')).toMatchObject({ leader: 1, isr: [1] })
    expect(world.produced(1, 't', 'b', { acks: 1 })).toBe('NONE')
    expect(world.produced(1, 't', 'c')).toBe('NOT_ENOUGH_REPLICAS')
    expect(world.stored(1, 't')).toEqual(['a', 'b'])
    expect(world.latest(1, 't')).toBe(1)
    world.cluster.node(2).start()
    world.env.advance(5000)
    expect(world.partition('t').isr).toEqual([1, 2])
    expect(world.latest(1, 't')).toBe(2)
  })

  it('says NOT_ENOUGH_REPLICAS_AFTER_APPEND only when the ISR shrank between the last step of the high watermark and the look at it', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2]], { 'min.insync.replicas': '2' })
    world.cut(1, 2)
    const answer = world.produce(1, 't', 'a', { timeoutMs: 1_000_000 })
    const { topicId } = world.cluster.image.topicsByName.get('t') as { topicId: string }
    const partition = world.cluster.broker(1).replicas.leaderById(topicId, 0)
    // What Kafka's threads can do in this order, and here nothing but a test: the follower has it, it leaves, and then only the request is
    // looked at.
    const fetched = {
      topicId,
      partitionId: 0,
      currentLeaderEpoch: 0,
      lastFetchedEpoch: 0,
      logStartOffset: 0,
      highWatermark: 0,
      maxBytes: 1,
    }
    partition.followerFetched(2, world.cluster.broker(2).brokerEpoch, { ...fetched, fetchOffset: 1 })
    partition.update({ ...partition.image, isr: [1], partitionEpoch: partition.image.partitionEpoch + 1 })
    expect(partition.highWatermark).toBe(1)
    expect(answer()).toBeUndefined()
    world.env.settle()
    expect(answer()).toBe('NOT_ENOUGH_REPLICAS_AFTER_APPEND')
  })
})

describe('a leader that dies', () => {
  it('is followed by another in-sync replica, with everything that was acknowledged', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    world.produced(1, 't', 'a')
    world.cluster.node(1).kill()
    world.env.advance(SESSION_MS + 1000)
    expect(world.partition('t')).toMatchObject({ leader: 2, isr: [2, 3], leaderEpoch: 1 })
    expect(world.produced(2, 't', 'b')).toBe('NONE')
    expect(world.consumed(2, 't').values).toEqual(['a', 'b'])
    world.cluster.node(1).start()
    world.env.advance(5000)
    expect(world.partition('t')).toMatchObject({ leader: 2, isr: [2, 3, 1], leaderEpoch: 1 })
    expect(world.stored(1, 't')).toEqual(['a', 'b'])
  })

  it('takes acks=1 while it is cut off, then cuts that off', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    world.produced(1, 't', 'a')
    world.part([1], [2, 3])
    world.env.advance(SESSION_MS + 1000)
    expect(world.partition('t')).toMatchObject({ leader: 2, leaderEpoch: 1, isr: [2, 3] })
    expect(world.believed(1, 't')).toMatchObject({ leaderId: 1, leaderEpoch: 0 })
    expect(world.produced(1, 't', 'lost', { acks: 1 })).toBe('NONE')
    const waiting = world.produce(1, 't', 'lost too', { timeoutMs: 600_000 })
    expect(world.produced(2, 't', 'b')).toBe('NONE')
    expect(world.stored(1, 't')).toEqual(['a', 'lost', 'lost too'])
    world.heal()
    world.env.advance(5000)
    expect(waiting()).toBe('NOT_LEADER_OR_FOLLOWER')
    expect(world.produced(1, 't', 'c', { acks: 1 })).toBe('NOT_LEADER_OR_FOLLOWER')
    expect(world.stored(1, 't')).toEqual(['a', 'b'])
    expect(world.partition('t').isr.toSorted()).toEqual([1, 2, 3])
  })

  it('is not replaced by one that is not in sync, unless the topic allows it', () => {
    const world = new ClusterWorld()
    for (const [name, unclean] of [
      ['safe', 'false'],
      ['unsafe', 'true'],
    ]) {
      world.topic(name, [[1, 2]], { 'unclean.leader.election.enable': unclean })
      world.produced(1, name, 'a')
    }
    world.cluster.node(2).kill()
    world.env.advance(SESSION_MS + 1000)
    for (const name of ['safe', 'unsafe']) expect(world.produced(1, name, 'only on 1')).toBe('NONE')
    world.cluster.node(1).kill()
    world.env.advance(SESSION_MS + 1000)
    world.cluster.node(2).start()
    world.env.advance(1000)
    expect(world.partition('safe')).toMatchObject({ leader: -1, isr: [], elr: [1] })
    expect(world.partition('unsafe')).toMatchObject({ leader: 2, isr: [2], leaderRecoveryState: 1 })
    world.produced(2, 'unsafe', 'b')
    world.cluster.node(1).start()
    world.env.advance(5000)
    // It died without a goodbye, so it is no safe leader; but it was the last, and is the best there is.
    expect(world.partition('safe')).toMatchObject({ leader: 1 })
    expect(world.stored(1, 'safe')).toEqual(['a', 'only on 1'])
    expect(world.stored(1, 'unsafe')).toEqual(['a', 'b'])
    expect(world.partition('unsafe')).toMatchObject({ leader: 2, isr: [2, 1], leaderRecoveryState: 0 })
  })
})

describe('a leader that never wrote anything', () => {
  it('forgets its epoch when it follows another', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    world.produced(1, 't', 'a')
    world.cluster.node(1).kill()
    world.env.advance(SESSION_MS)
    expect(world.partition('t')).toMatchObject({ leader: 2, leaderEpoch: 1 })
    world.part([2], [1, 3])
    world.env.advance(SESSION_MS + 1000)
    expect(world.partition('t')).toMatchObject({ leader: 3, leaderEpoch: 2 })
    expect(world.produced(3, 't', 'b')).toBe('NONE')
    world.heal()
    world.env.advance(5000)
    expect(world.stored(2, 't')).toEqual(['a', 'b'])
    expect(world.partition('t').isr.toSorted()).toEqual([2, 3])
  })
})

describe('eligible leader replicas', () => {
  it('are kept as on Kafka 4.4', () => {
    const world = new ClusterWorld()
    world.topic('t', [[2, 3]], { 'min.insync.replicas': '2' })
    const state = () => {
      const { leader, isr, elr } = world.partition('t')
      return { leader, isr: isr.toSorted(), elr: elr.toSorted() }
    }
    world.cluster.node(2).kill()
    world.env.advance(SESSION_MS + 1000)
    expect(state()).toEqual({ leader: 3, isr: [3], elr: [2] })
    world.cluster.node(3).kill()
    world.env.advance(SESSION_MS + 1000)
    expect(state()).toEqual({ leader: -1, isr: [], elr: [2, 3] })
    world.cluster.node(2).start()
    world.env.advance(5000)
    expect(state()).toMatchObject({ leader: -1, isr: [] })
    world.cluster.node(3).start()
    world.env.advance(5000)
    expect(state()).toMatchObject({ leader: 3 })
  })
})

describe('a broker that shuts down in good order', () => {
  it('gives its leaderships away first, and leads again when it is preferred', () => {
    const world = new ClusterWorld()
    world.topic('t', [[1, 2, 3]])
    world.produced(1, 't', 'a')
    const stopped = world.cluster.node(1).stop()
    world.env.advance(1000)
    expect(stopped.settled).toBe(true)
    expect(world.partition('t')).toMatchObject({ leader: 2, isr: [2, 3] })
    world.produced(2, 't', 'b')
    world.cluster.node(1).start()
    world.env.advance(5000)
    expect(world.partition('t').isr.toSorted()).toEqual([1, 2, 3])
    world.env.advance(300_000)
    expect(world.partition('t')).toMatchObject({ leader: 1, leaderEpoch: 2 })
    expect(world.consumed(1, 't').values).toEqual(['a', 'b'])
  })
})

describe('metadata', () => {
  it('reaches a broker that was cut off, in order and once', () => {
    const world = new ClusterWorld()
    world.cut(CONTROLLER, 3)
    for (const name of ['a', 'b', 'c']) world.topic(name, [[1, 2]])
    expect(world.cluster.broker(3).image.topicsByName.size).toBe(0)
    world.heal()
    world.env.advance(1000)
    expect([...world.cluster.broker(3).image.topicsByName.keys()]).toEqual(['a', 'b', 'c'])
    world.cluster.network.double(CONTROLLER, 3)
    world.topic('d', [[1, 2]])
    expect(world.cluster.broker(3).metadataOffset).toBe(world.cluster.broker(1).metadataOffset)
  })
})
