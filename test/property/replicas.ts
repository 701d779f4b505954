/**
 * Histories of one replicated partition that the model (`ReplicatedPartition`) and a cluster go through side by side. A second
 * replica is one that stalls from the beginning: it is in sync by name, and nothing that it does not have may be seen by readers.
 */

import * as fc from 'fast-check'
import { expect } from 'vitest'
import { Consumer } from '../../src/client/index.ts'
import { NotEnoughReplicasError, OffsetOutOfRangeError, RequestTimedOutError } from '../../src/model/errors.ts'
import { ReplicatedPartition } from '../../src/model/index.ts'
import { metadata } from '../../src/protocol/apis/metadata.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { World } from './world.ts'

const TOPIC = 'replicated'
const LAGS_LONG = { 'replica.lag.time.max.ms': '10000000' }

type Model = ReplicatedPartition<null, string>

/** What can be seen of the two is the same. */
function agree(model: Model, real: World): void {
  const answer = real.good(real.client.request(metadata, { topics: [{ name: TOPIC }] }))
  const { leaderId, leaderEpoch, isrNodes } = answer.topics[0].partitions[0]
  const highWatermark = real.bounds(TOPIC, 0).end
  expect({ leader: leaderId, leaderEpoch, isr: isrNodes.toSorted(), highWatermark }).toEqual({
    leader: model.leader,
    leaderEpoch: model.leaderEpoch,
    isr: model.isr,
    highWatermark: model.highWatermark,
  })
}

/** The name under which the broker says what the model throws, or NONE. */
function nameOf(call: () => void): string {
  try {
    call()
    return 'NONE'
  } catch (error) {
    if (error instanceof NotEnoughReplicasError) return 'NOT_ENOUGH_REPLICAS'
    if (error instanceof RequestTimedOutError) return 'REQUEST_TIMED_OUT'
    if (error instanceof OffsetOutOfRangeError) return 'OFFSET_OUT_OF_RANGE'
    throw error
  }
}

class Append implements fc.Command<Model, World> {
  readonly acks: 1 | 'all'
  readonly value: string
  constructor(acks: 1 | 'all', value: string) {
    this.acks = acks
    this.value = value
  }
  check() {
    return true
  }
  run(model: Model, real: World) {
    let offset: number | undefined
    const error = nameOf(() => {
      offset = model.append(null, this.value, { acks: this.acks }).offset
    })
    const records = [{ value: utf8Encode(this.value), timestamp: real.env.now() }]
    const options = { acks: this.acks === 'all' ? (-1 as const) : this.acks, timeoutMs: 50 }
    const answer = real.produce(TOPIC, 0, { records }, options)
    expect(answer.error).toBe(error)
    if (error === 'NONE') expect(answer.offset).toBe(offset)
    agree(model, real)
  }
  toString() {
    return `Append acks=${this.acks}`
  }
}

/** A reader that begins at an offset and takes what it gets. */
class Read implements fc.Command<Model, World> {
  readonly offset: number
  constructor(offset: number) {
    this.offset = offset
  }
  check() {
    return true
  }
  run(model: Model, real: World) {
    let expected: unknown
    const error = nameOf(() => {
      expected = model.read(this.offset).map(({ offset, leaderEpoch, value }) => ({ offset, leaderEpoch, value }))
    })
    const consumer = new Consumer(real.client, { autoOffsetReset: 'none', maxWaitMs: 10 })
    consumer.assign([{ topic: TOPIC, partition: 0 }])
    consumer.seek({ topic: TOPIC, partition: 0 }, this.offset)
    const polled = real.wait(consumer.poll(50))
    const { leaderEpoch } = model
    const got = polled.ok
      ? polled.value.map(({ offset, value }) => ({ offset, leaderEpoch, value: utf8Decode(value!) }))
      : polled.error.code
    expect(got).toEqual(error === 'NONE' ? expected : error)
    real.good(consumer.close())
    agree(model, real)
  }
  toString() {
    return `Read ${this.offset}`
  }
}

const acks = fc.constantFrom(1 as const, 'all' as const)
const commands = [
  fc.tuple(acks, fc.string({ maxLength: 5 })).map(args => new Append(...args)),
  fc.nat(8).map(offset => new Read(offset)),
]

/** The property: whatever happens, model and cluster agree. */
export function replicaHistories() {
  return fc.property(
    fc.integer({ min: 1, max: 2 }),
    fc.integer({ min: 1, max: 2 }),
    fc.commands(commands, { maxCommands: 30 }),
    (brokers, minInsyncReplicas, history) => {
      const replicas = brokers === 1 ? [1] : [1, 2]
      const model = new ReplicatedPartition<null, string>({ replicas, minInsyncReplicas })
      if (brokers === 2) model.stall(2)
      const configs = { 'min.insync.replicas': String(minInsyncReplicas) }
      fc.modelRun(() => {
        const real = new World([{ name: TOPIC, assignments: [replicas], configs }], LAGS_LONG, brokers)
        if (brokers === 2)
          for (const [from, to] of [
            [1, 2],
            [2, 1],
          ])
            real.cluster.network.cut(from, to)
        return { model, real }
      }, history)
    },
  )
}
