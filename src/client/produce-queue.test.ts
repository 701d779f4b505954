import { describe, expect, it } from 'vitest'
import { readBatchHeader } from '../records/batch-header.ts'
import { PURE_PLATFORM } from '../records/compression.ts'
import { Later } from '../util/later.ts'
import { Turns } from '../util/turns.ts'
import { encodeBatch, ProduceQueue } from './produce-queue.ts'

const turns = new Turns()
const NOW = 1000

/** A queue with `count` batches of one record each, and an id. */
function queueOf(count: number, producerEpoch = 0) {
  const queue = new ProduceQueue('orders', 0, 5)
  queue.adopt({ producerId: 7, producerEpoch })
  for (let index = 0; index < count; index++) {
    queue.append({ record: { timestamp: index }, reply: new Later(turns) }, 10, 10, NOW)
  }
  return queue
}

describe('what is on its way', () => {
  it('is never more than five batches, which is what a broker remembers', () => {
    const queue = queueOf(8)
    queue.acknowledge(queue.take())
    const taken = []
    while (queue.canSend(NOW)) taken.push(queue.take())
    expect(taken.map(batch => batch.sequence)).toEqual([1, 2, 3, 4, 5])
    queue.acknowledge(taken[0])
    expect(queue.canSend(NOW)).toBe(true)
    expect(queue.take().sequence).toBe(6)
  })

  it('is one batch until the broker knows the producer, since it would take any sequence as the first', () => {
    const queue = queueOf(3)
    const first = queue.take()
    expect(queue.canSend(NOW)).toBe(false)
    queue.requeue(first, false)
    expect([queue.take(), queue.canSend(NOW)]).toEqual([first, false])
    queue.acknowledge(first)
    expect(queue.canSend(NOW)).toBe(true)
  })

  it('is one batch again in a new epoch', () => {
    const queue = queueOf(4)
    queue.acknowledge(queue.take())
    queue.loseEpoch(queue.take())
    const first = queue.take()
    expect([first.identity?.producerEpoch, queue.canSend(NOW)]).toEqual([1, false])
    queue.acknowledge(first)
    expect(queue.canSend(NOW)).toBe(true)
  })

  it('is as many from the start for a producer that is not idempotent', () => {
    const queue = queueOf(2)
    queue.adopt({ producerId: -1, producerEpoch: -1 })
    queue.take()
    expect(queue.canSend(NOW)).toBe(true)
  })

  it('comes back in order before anything else is sent', () => {
    const queue = queueOf(4)
    const [first, second, third] = [queue.take(), queue.take(), queue.take()]
    queue.requeue(first, false)
    expect([queue.canSend(NOW), queue.hasOlder(second)]).toEqual([false, true])
    queue.requeue(third, false)
    queue.requeue(second, false)
    const again = [queue.take(), queue.take(), queue.take(), queue.take()]
    expect(again.map(batch => batch.sequence)).toEqual([0, 1, 2, 3])
    expect(again.slice(0, 3)).toEqual([first, second, third])
  })

  it('waits out a pause', () => {
    const queue = queueOf(1)
    queue.notBefore = NOW + 1
    expect([queue.canSend(NOW), queue.canSend(NOW + 1)]).toEqual([false, true])
  })
})

describe('sequences', () => {
  it('count records, go on at 0 after 2^31 - 1, and stay with their batch', () => {
    const queue = new ProduceQueue('orders', 0, 5)
    queue.adopt({ producerId: 7, producerEpoch: 0 })
    for (let index = 0; index < 4; index++) {
      queue.append({ record: { timestamp: index }, reply: new Later(turns) }, 10, 20, NOW)
    }
    const [first, second] = [queue.take(), queue.take()]
    expect([first.pending.length, first.sequence, second.sequence]).toEqual([2, 0, 2])
    const before = encodeBatch(first, 'none', PURE_PLATFORM)
    queue.requeue(first, true)
    queue.requeue(second, true)
    expect(encodeBatch(queue.take(), 'none', PURE_PLATFORM)).toBe(before)
    expect(readBatchHeader(before)).toMatchObject({ producerId: 7, producerEpoch: 0, baseSequence: 0, recordsCount: 2 })
  })

  it('begin again in a new epoch once nothing is on its way; only what was surely not stored follows', () => {
    const queue = queueOf(4)
    const [first, second, third] = [queue.take(), queue.take(), queue.take()]
    expect(queue.loseEpoch(first)).toEqual([])
    expect([queue.broken, queue.canSend(NOW)]).toEqual([true, false])
    expect(queue.requeue(second, true)).toEqual([])
    expect(queue.requeue(third, false)).toEqual([second])
    expect(queue.broken).toBe(false)
    const again = queue.take()
    expect(again).toBe(third)
    expect([again.sequence, again.identity]).toEqual([0, { producerId: 7, producerEpoch: 1 }])
  })

  it('need another producer id when the epochs are spent', () => {
    const queue = queueOf(2, 32767)
    queue.loseEpoch(queue.take())
    expect([queue.needsIdentity, queue.spentProducerId]).toEqual([true, 7])
    queue.adopt({ producerId: 8, producerEpoch: 0 })
    expect(queue.take()).toMatchObject({ sequence: 0, identity: { producerId: 8 } })
  })

  it('of a refused batch go to the next, unless something behind it was sent or it may be stored', () => {
    const last = queueOf(2)
    last.giveUp(last.take())
    expect(last.take()).toMatchObject({ sequence: 0, identity: { producerEpoch: 0 } })
    const followed = queueOf(3)
    const [first, second] = [followed.take(), followed.take()]
    followed.giveUp(first)
    followed.requeue(second, false)
    expect(followed.take()).toMatchObject({ sequence: 0, identity: { producerEpoch: 1 } })
    const unsure = queueOf(2)
    const batch = unsure.take()
    unsure.requeue(batch, true)
    unsure.giveUp(batch)
    expect(unsure.take()).toMatchObject({ sequence: 0, identity: { producerEpoch: 1 } })
  })
})
