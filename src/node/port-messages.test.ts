import { describe, expect, it } from 'vitest'
import type { ReplicaFetchReply } from '../broker/link.ts'
import { Later } from '../util/later.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { LinkCalls, type LinkMessage, withOwnBuffers } from './port-messages.ts'

/** Two sides, and what went between them, cloned as a port clones. */
function connect(answers: Record<string, (...args: never[]) => Later<unknown>>) {
  const env = new VirtualEnv()
  const posted: { message: LinkMessage; transfer: ArrayBuffer[] }[] = []
  const carry = (to: () => LinkCalls) => (message: LinkMessage, transfer: ArrayBuffer[]) => {
    posted.push({ message, transfer })
    const copy = structuredClone(message, { transfer })
    env.turns.enqueue(() => to().receive(copy))
  }
  const asker: LinkCalls = new LinkCalls(
    env,
    carry(() => answerer),
    {},
  )
  const answerer: LinkCalls = new LinkCalls(
    env,
    carry(() => asker),
    answers,
  )
  return { env, asker, posted }
}

function replyWith(records: Uint8Array[]): ReplicaFetchReply {
  const marks = { highWatermark: 1, logStartOffset: 0, logEndOffset: 2 }
  return { partitions: [{ topicId: 't', partitionId: 0, error: 'NONE', ...marks, records }] }
}

describe('calls over a port', () => {
  it('are answered with what the other side settles with, each with its own', () => {
    const { env, asker } = connect({
      add: (a: number, b: number) => Later.of(env.turns, a + b),
      lose: () => Later.of(env.turns, undefined),
    })
    const answers = [asker.ask('add', 1, 2), asker.ask('lose'), asker.ask('add', 3, 4)]
    env.settle()
    expect(answers.map(({ value }) => value)).toEqual([3, undefined, 7])
  })

  it('are not answered any more once they are forgotten, nor are those after them confused', () => {
    const later: Later<number>[] = []
    const { env, asker } = connect({
      wait: () => {
        const answer = new Later<number>(env.turns)
        later.push(answer)
        return answer
      },
    })
    const before = asker.ask('wait')
    env.settle()
    asker.forget()
    const after = asker.ask('wait')
    env.settle()
    later[0].settle(1)
    later[1].settle(2)
    env.settle()
    expect([before.settled, after.value]).toEqual([false, 2])
  })

  it('hand records over in arrays of their own, and leave the log its slab', () => {
    const slab = new Uint8Array([9, 1, 2, 3, 9])
    const { env, asker, posted } = connect({
      receive: () => Later.of(env.turns, replyWith([slab.subarray(1, 3), slab.subarray(3, 4)])).map(withOwnBuffers),
    })
    const answer = asker.ask<ReplicaFetchReply>('receive')
    env.settle()
    const [bytes] = answer.value.partitions[0].records
    expect([...bytes]).toEqual([1, 2, 3])
    expect(bytes.buffer.byteLength).toBe(3)
    // They were moved and not copied a second time; what was read from is whole.
    expect(posted.map(({ transfer }) => transfer.length)).toEqual([0, 1])
    expect(posted[1].transfer[0].byteLength).toBe(0)
    expect([...slab]).toEqual([9, 1, 2, 3, 9])
  })

  it('leave an answer without records as it is', () => {
    for (const reply of [replyWith([]), { isUnknown: true, partitions: [] }])
      expect(withOwnBuffers(reply)).toEqual(reply)
  })
})
