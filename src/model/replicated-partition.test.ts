// Section 7: replication, in-sync replicas, acks, elections, truncation and what gets lost.

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NotEnoughReplicasError, NotLeaderError, OffsetOutOfRangeError, RequestTimedOutError } from './errors.ts'
import { ReplicatedPartition, type ReplicationOptions } from './replicated-partition.ts'

const create = (options: Partial<ReplicationOptions> = {}) =>
  new ReplicatedPartition<string, string>({ replicas: [1, 2, 3], ...options })
const values = (records: { value: string }[]) => records.map(record => record.value).join('')
const state = (p: ReplicatedPartition<string, string>) => ({
  leader: p.leader,
  isr: p.isr,
  leaderEpoch: p.leaderEpoch,
  highWatermark: p.highWatermark,
})

describe('appending', () => {
  it('starts with everybody in sync, led by the first', () => {
    expect(state(create({ replicas: [3, 1, 2] }))).toEqual({
      leader: 3,
      isr: [1, 2, 3],
      leaderEpoch: 0,
      highWatermark: 0,
    })
  })

  it.each([0, 1, 'all'] as const)('acks %s: the record gets to everybody, and consumers see it', acks => {
    const p = create()
    expect(p.append('k', 'a', { acks })).toEqual({ offset: 0, leaderEpoch: 0 })
    expect(p.append('k', 'b', { acks })).toEqual({ offset: 1, leaderEpoch: 0 })
    expect([1, 2, 3].map(id => values(p.log(id)))).toEqual(['ab', 'ab', 'ab'])
    expect(p.read(0)).toEqual([
      { offset: 0, leaderEpoch: 0, key: 'k', value: 'a' },
      { offset: 1, leaderEpoch: 0, key: 'k', value: 'b' },
    ])
    expect([p.read(0, 1).length, p.read(1, 0).length, p.read(2).length]).toEqual([1, 0, 0])
  })

  it('consumers read below the high watermark only', () => {
    const p = create()
    p.stall(3)
    p.append('k', 'a', { acks: 1 })
    expect([p.highWatermark, p.read(0), p.read(1), values(p.log(1))]).toEqual([0, [], [], 'a'])
    expect(() => p.read(2)).toThrow(OffsetOutOfRangeError)
    p.resume(3)
    expect([p.highWatermark, values(p.read(0))]).toEqual([1, 'a'])
  })

  it('acks all times out while a stalled follower is in sync; the record stays and the watermark waits', () => {
    const p = create()
    p.append('k', 'a', { acks: 'all' })
    p.stall(2)
    expect(() => p.append('k', 'b', { acks: 'all' })).toThrow(RequestTimedOutError)
    expect([values(p.log(1)), values(p.log(2)), values(p.log(3)), p.highWatermark]).toEqual(['ab', 'a', 'ab', 1])
    p.shrinkIsr()
    expect([p.isr, p.highWatermark, values(p.read(0))]).toEqual([[1, 3], 2, 'ab'])
    expect(p.append('k', 'c', { acks: 'all' }).offset).toBe(2)
    p.resume(2)
    expect([p.isr, values(p.log(2))]).toEqual([[1, 2, 3], 'abc'])
  })

  it('acks all is refused before appending when too few are in sync', () => {
    const p = create({ minInsyncReplicas: 2 })
    p.kill(2)
    expect(p.append('k', 'a', { acks: 'all' }).offset).toBe(0)
    p.kill(3)
    expect(() => p.append('k', 'b', { acks: 'all' })).toThrow(NotEnoughReplicasError)
    expect(values(p.log(1))).toBe('a')
  })

  it('while the ISR is smaller than the minimum the watermark stands still, even for acks 1', () => {
    const p = create({ minInsyncReplicas: 2 })
    p.append('k', 'a')
    p.kill(2)
    p.kill(3)
    p.append('k', 'b', { acks: 1 })
    p.append('k', 'c', { acks: 0 })
    expect([p.isr, p.highWatermark, values(p.read(0)), values(p.log(1))]).toEqual([[1], 1, 'a', 'abc'])
    p.restart(3)
    expect([p.isr, p.highWatermark, values(p.read(0))]).toEqual([[1, 3], 3, 'abc'])
  })

  it('the minimum is capped by the number of replicas', () => {
    const p = create({ replicas: [1, 2], minInsyncReplicas: 5 })
    expect(p.append('k', 'a', { acks: 'all' }).offset).toBe(0)
    expect(p.highWatermark).toBe(1)
    const alone = create({ replicas: [7], minInsyncReplicas: 2 })
    alone.append('k', 'a', { acks: 'all' })
    expect([alone.highWatermark, alone.isr]).toEqual([1, [7]])
  })

  it('acks default to all', () => {
    const p = create()
    p.stall(3)
    expect(() => p.append('k', 'a')).toThrow(RequestTimedOutError)
  })
})

describe('elections', () => {
  it('killing a follower shrinks the ISR; it rejoins when it has caught up', () => {
    const p = create()
    p.append('k', 'a')
    p.kill(3)
    expect(state(p)).toEqual({ leader: 1, isr: [1, 2], leaderEpoch: 0, highWatermark: 1 })
    p.append('k', 'b')
    expect(values(p.log(3))).toBe('a')
    p.restart(3)
    expect([state(p).isr, values(p.log(3))]).toEqual([[1, 2, 3], 'ab'])
  })

  it('killing the leader elects from the ISR with a higher epoch', () => {
    const p = create()
    p.append('k', 'a')
    p.kill(1)
    expect(state(p)).toEqual({ leader: 2, isr: [2, 3], leaderEpoch: 1, highWatermark: 1 })
    expect(p.append('k', 'b')).toEqual({ offset: 1, leaderEpoch: 1 })
    p.restart(1)
    expect([state(p), values(p.log(1))]).toEqual([
      { leader: 2, isr: [1, 2, 3], leaderEpoch: 1, highWatermark: 2 },
      'ab',
    ])
  })

  it('does not elect a replica that is not in sync', () => {
    const p = create()
    p.stall(2)
    p.append('k', 'a', { acks: 1 })
    p.shrinkIsr()
    p.kill(1)
    expect([p.leader, p.isr, values(p.read(0))]).toEqual([3, [3], 'a'])
  })

  it('what a stalled replica has of an epoch before does not count for the watermark', () => {
    const p = new ReplicatedPartition({ replicas: [1, 2, 3] })
    p.stall(2)
    p.append(null, 'lost', { acks: 1 })
    p.stall(3)
    p.kill(1)
    expect(p.leader).toBe(2)
    p.append(null, 'b', { acks: 1 })
    expect([p.log(3).length, p.highWatermark]).toEqual([1, 0])
    p.resume(3)
    expect(p.log(3).map(record => record.value)).toEqual(['b'])
    expect(p.highWatermark).toBe(1)
  })

  it('a stalled replica that is in sync may lead', () => {
    const p = create({ replicas: [1, 2] })
    p.append('k', 'a')
    p.stall(2)
    p.kill(1)
    expect([p.leader, p.isr]).toEqual([2, [2]])
    p.append('k', 'b', { acks: 'all' })
    p.shrinkIsr()
    expect([p.isr, values(p.read(0))]).toEqual([[2], 'ab'])
  })

  it('with none left there is no leader until the last in-sync replica, still listed, returns', () => {
    const p = create()
    p.append('k', 'a')
    p.kill(1)
    p.kill(2)
    p.append('k', 'b')
    p.kill(3)
    expect([p.leader, p.isr]).toEqual([null, [3]])
    expect(() => p.append('k', 'c', { acks: 0 })).toThrow(NotLeaderError)
    expect(() => p.read(0)).toThrow(NotLeaderError)
    const epoch = p.leaderEpoch
    p.restart(1)
    p.shrinkIsr()
    p.replicate()
    expect([p.leader, p.isr, p.leaderEpoch, values(p.log(1))]).toEqual([null, [3], epoch, 'a'])
    p.restart(3)
    expect([p.leader, p.isr, values(p.log(1)), p.leaderEpoch > epoch]).toEqual([3, [1, 3], 'ab', true])
    expect(p.lost()).toEqual([])
  })

  it('a restart ends a stall', () => {
    const p = create()
    p.stall(3)
    p.kill(3)
    p.append('k', 'a')
    p.restart(3)
    expect([p.isr, values(p.log(3))]).toEqual([[1, 2, 3], 'a'])
  })

  it('killing the dead and restarting the living does nothing', () => {
    const p = create()
    p.restart(1)
    p.kill(3)
    const before = state(p)
    p.kill(3)
    expect(state(p)).toEqual(before)
  })
})

describe('losing records', () => {
  it('acks 1: what only the dead leader had is truncated when it returns', () => {
    const p = create()
    p.append('k', 'a')
    p.stall(2)
    p.stall(3)
    p.append('k', 'x', { acks: 1 })
    p.append('k', 'y', { acks: 0 })
    p.kill(1)
    p.resume(2)
    p.resume(3)
    p.append('k', 'b')
    // As long as the dead replica still has it, it is not lost for good.
    expect(p.lost()).toEqual([])
    p.restart(1)
    expect([1, 2, 3].map(id => values(p.log(id)))).toEqual(['ab', 'ab', 'ab'])
    expect(p.lost()).toEqual([{ offset: 1, leaderEpoch: 0, key: 'k', value: 'x' }])
  })

  it('a record that timed out was not acknowledged, so losing it is no loss', () => {
    const p = create()
    p.stall(2)
    p.stall(3)
    expect(() => p.append('k', 'x', { acks: 'all' })).toThrow(RequestTimedOutError)
    p.kill(1)
    p.resume(2)
    p.append('k', 'b', { acks: 1 })
    p.restart(1)
    expect([values(p.log(1)), p.lost()]).toEqual(['b', []])
  })

  it('unclean election: any live replica may lead, and lost() says which acknowledged records it cost', () => {
    const p = create({ uncleanLeaderElection: true })
    p.append('k', 'a')
    p.stall(2)
    p.stall(3)
    p.shrinkIsr()
    for (const value of ['b', 'c']) p.append('k', value, { acks: 'all' })
    expect([p.isr, values(p.read(0))]).toEqual([[1], 'abc'])
    p.kill(1)
    expect(state(p)).toEqual({ leader: 2, isr: [2], leaderEpoch: 1, highWatermark: 1 })
    p.resume(3)
    p.append('k', 'd')
    p.restart(1)
    expect([1, 2, 3].map(id => values(p.log(id)))).toEqual(['ad', 'ad', 'ad'])
    expect(values(p.lost())).toBe('bc')
    p.lost()[0].value = 'changed'
    expect(values(p.lost())).toBe('bc')
  })

  it('unclean election also when a replica comes back to a partition without a leader', () => {
    const p = create({ replicas: [1, 2], uncleanLeaderElection: true })
    p.kill(2)
    p.append('k', 'a')
    p.kill(1)
    expect(p.leader).toBe(null)
    p.restart(2)
    expect([p.leader, p.isr, p.highWatermark]).toEqual([2, [2], 0])
  })

  it('prefers a clean election when there is one', () => {
    const p = create({ uncleanLeaderElection: true })
    p.stall(2)
    p.append('k', 'a', { acks: 1 })
    p.shrinkIsr()
    p.kill(1)
    expect([p.leader, p.lost()]).toEqual([3, []])
  })
})

describe('manual replication', () => {
  it('moves only with replicate(), one round at a time', () => {
    const p = create({ manual: true, replicas: [1, 2] })
    expect(p.append('k', 'a', { acks: 'all' })).toEqual({ offset: 0, leaderEpoch: 0 })
    expect([values(p.log(2)), p.highWatermark]).toEqual(['', 0])
    p.replicate()
    expect([values(p.log(2)), p.highWatermark]).toEqual(['a', 1])
  })

  it('acks all counts as acknowledged once everybody has it', () => {
    const p = create({ manual: true, replicas: [1, 2] })
    p.append('k', 'a', { acks: 'all' })
    p.kill(1)
    p.append('k', 'b', { acks: 'all' })
    p.restart(1)
    p.replicate()
    expect([values(p.log(1)), p.lost()]).toEqual(['b', []])
  })
})

describe('bad input: RangeError or TypeError, nothing changed', () => {
  it.each([
    [{ replicas: [] }, RangeError, /replicas/],
    [{ replicas: [1, 1] }, RangeError, /replicas/],
    [{ replicas: [1, -1] }, RangeError, /replicas/],
    [{ replicas: [1, 0.5] }, RangeError, /replicas/],
    [{ replicas: 3 }, TypeError, /replicas/],
    [{ minInsyncReplicas: 0 }, RangeError, /minInsyncReplicas/],
    [{ minInsyncReplicas: Number.NaN }, RangeError, /minInsyncReplicas/],
  ])('new ReplicatedPartition(%j)', (options, type, message) => {
    expect(() => create(options as never)).toThrow(type)
    expect(() => create(options as never)).toThrow(message)
  })

  it.each([4, '1', undefined, Number.NaN])('replica %s', bad => {
    const p = create()
    const id = bad as number
    for (const call of [
      () => p.log(id),
      () => p.kill(id),
      () => p.restart(id),
      () => p.stall(id),
      () => p.resume(id),
    ]) {
      expect(call).toThrow(RangeError)
    }
    expect(state(p)).toEqual(state(create()))
  })

  it('acks, offset and max', () => {
    const p = create()
    for (const acks of [2, -1, '1', 'ALL', null]) {
      expect(() => p.append('k', 'a', { acks: acks as never })).toThrow(/acks/)
    }
    expect(p.log(1)).toEqual([])
    for (const n of [-1, 0.5, '0']) {
      expect(() => p.read(n as number)).toThrow(RangeError)
      expect(() => p.read(0, n as number)).toThrow(RangeError)
    }
  })
})

type Step = ['append', 0 | 1 | 'all'] | ['kill' | 'restart' | 'stall' | 'resume', number] | ['shrinkIsr' | 'replicate']

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.tuple(fc.constant('append' as const), fc.constantFrom(0 as const, 1 as const, 'all' as const)),
    fc.tuple(
      fc.constantFrom('kill' as const, 'restart' as const, 'stall' as const, 'resume' as const),
      fc.constantFrom(1, 2, 3),
    ),
    fc.tuple(fc.constantFrom('shrinkIsr' as const, 'replicate' as const)),
  ),
  { maxLength: 40 },
)

/** Runs the steps; what the partition refuses is skipped. Returns the values that acks=all has confirmed. */
function run(p: ReplicatedPartition<string, string>, history: Step[], afterEach: (confirmed: string[]) => void): void {
  const confirmed: string[] = []
  for (const [i, [verb, argument]] of history.entries()) {
    try {
      if (verb === 'append') {
        p.append('k', `<${i}>`, { acks: argument as 'all' })
        if (argument === 'all') confirmed.push(`<${i}>`)
      } else p[verb](argument as number)
    } catch (error) {
      const known = [NotLeaderError, NotEnoughReplicasError, RequestTimedOutError]
      if (!known.some(type => error instanceof type)) throw error
    }
    afterEach(confirmed)
  }
}

describe('whatever happens', () => {
  it('without unclean election nothing that acks=all confirmed is lost, and the watermark never goes back', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 3 }), (history, minInsyncReplicas) => {
        const p = create({ minInsyncReplicas })
        let [watermark, epoch] = [0, 0]
        run(p, history, confirmed => {
          expect(p.highWatermark).toBeGreaterThanOrEqual(watermark)
          expect(p.leaderEpoch).toBeGreaterThanOrEqual(epoch)
          ;[watermark, epoch] = [p.highWatermark, p.leaderEpoch]
          expect(p.isr.length).toBeGreaterThan(0)
          if (p.leader === null) return
          expect(p.isr).toContain(p.leader)
          for (const value of confirmed) expect(values(p.read(0, 1000))).toContain(value)
          for (const member of p.isr) {
            expect(p.log(member).slice(0, watermark)).toEqual(p.log(p.leader).slice(0, watermark))
          }
        })
      }),
      { numRuns: 300 },
    )
  })

  it('once all are back, all logs are the same, and everybody is in sync', () => {
    fc.assert(
      fc.property(steps, fc.boolean(), fc.boolean(), (history, uncleanLeaderElection, manual) => {
        const p = create({ uncleanLeaderElection, manual })
        run(p, history, () => undefined)
        for (const id of [1, 2, 3]) {
          p.restart(id)
          p.resume(id)
        }
        p.replicate()
        expect([p.isr, p.highWatermark]).toEqual([[1, 2, 3], p.log(1).length])
        expect([p.log(2), p.log(3)]).toEqual([p.log(1), p.log(1)])
      }),
    )
  })
})
