/**
 * Clients on the real broker while connections break and the broker cannot be reached, from one seed each: in the end every
 * record is stored exactly once and in order, every record was read, and the group is whole. The seed repeats the history.
 */

import { describe, expect, it } from 'vitest'
import {
  assignors,
  Consumer,
  GroupConsumer,
  KafkaClient,
  type Later,
  Producer,
  type RecordMetadata,
  type Result,
} from '../../src/client/index.ts'
import { Prng } from '../../src/util/prng.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform, startTestBroker } from '../broker/harness.ts'
import { BrokerTransport } from './broker-transport.ts'

const PARTITIONS = [0, 1, 2, 3]

class World {
  readonly env: VirtualEnv
  readonly #chance: Prng
  readonly #transport: BrokerTransport
  readonly #listen: (open: boolean) => void
  readonly #producers: Producer[]
  readonly #seed: number
  readonly sent: Later<Result<RecordMetadata>>[] = []
  readonly members: GroupConsumer[] = []
  readonly read = new Set<string>()

  constructor(seed: number, idempotent = true) {
    this.#seed = seed
    this.env = new VirtualEnv({ seed })
    this.#chance = new Prng(seed + 1000)
    const { cluster } = startTestBroker({ topics: [{ name: 'orders', partitions: PARTITIONS.length }], env: this.env })
    this.#transport = new BrokerTransport(this.env, () => Math.floor(this.#chance.next() * 20))
    this.#listen = open => this.#transport.listen('localhost', 9092, open ? cluster.broker(1) : undefined)
    this.#listen(true)
    this.#producers = [0, 1].map(() => new Producer(this.connect(), { batchBytes: 60, lingerMs: 3, idempotent }))
  }

  connect(): KafkaClient {
    const bootstrap = [{ host: 'localhost', port: 9092 }]
    return new KafkaClient({ env: this.env, transport: this.#transport, bootstrap, platform, requestTimeoutMs: 5000 })
  }

  /** A member that reads all the time. */
  join(): void {
    const consumer = new GroupConsumer(this.connect(), {
      groupId: 'g',
      topics: ['orders'],
      autoOffsetReset: 'earliest',
      assignors: [assignors[this.#seed % assignors.length]],
      sessionTimeoutMs: 6000,
      autoCommit: true,
      autoCommitIntervalMs: 200,
    })
    this.members.push(consumer)
    const loop = () =>
      consumer.poll(100).whenSettled(result => {
        if (result.ok) for (const { value } of result.value) this.read.add(utf8Decode(value as Uint8Array))
        else if (result.error.code === 'OTTLA_CLIENT_CLOSED') return
        this.env.timer(1, loop)
      })
    loop()
  }

  /** One step of the history: a record, a fault, a member that comes or goes; and a little time. */
  step(): void {
    const dice = this.#chance.next()
    if (dice < 0.5) this.#send()
    else if (dice > 0.97) this.#transport.breakAll()
    else if (dice > 0.96 && this.members.length < 5) this.join()
    else if (dice > 0.95 && this.members.length > 1) this.members.shift()?.close()
    else if (dice > 0.945) {
      this.#listen(false)
      this.env.advance(1500)
      this.#listen(true)
    }
    this.env.advance(Math.floor(this.#chance.next() * 60))
  }

  #send(): void {
    const number = this.sent.length
    const partition = Math.floor(this.#chance.next() * PARTITIONS.length)
    const value = utf8Encode(`${number}`)
    this.sent.push(this.#producers[number % 2].send({ topic: 'orders', partition, value }))
  }

  /** The numbers that lie in each partition. */
  stored(): number[][] {
    const consumer = new Consumer(this.connect(), { autoOffsetReset: 'earliest' })
    consumer.assign(PARTITIONS.map(partition => ({ topic: 'orders', partition })))
    const stored: number[][] = PARTITIONS.map(() => [])
    for (let round = 0; round < 30; round++) {
      const polled = consumer.poll(100)
      this.env.advance(100)
      if (!polled.value.ok) throw polled.value.error
      for (const { partition, value } of polled.value.value)
        stored[partition].push(Number(utf8Decode(value as Uint8Array)))
    }
    return stored
  }
}

function history(seed: number, idempotent?: boolean): World {
  const world = new World(seed, idempotent)
  world.join()
  world.join()
  for (let step = 0; step < 500; step++) world.step()
  world.env.advance(60_000)
  return world
}

describe('through faults', () => {
  it.each([...Array(12).keys()])('nothing is lost, doubled or out of order, and the group is whole (seed %i)', seed => {
    const world = history(seed)
    expect(world.sent.filter(later => !later.value.ok)).toEqual([])
    expect(world.members.map(each => each.member.status)).toEqual(world.members.map(() => 'stable'))
    const owned = world.members.flatMap(each => each.member.owned.map(({ partition }) => partition))
    expect(owned.sort()).toEqual(PARTITIONS)
    expect(world.read.size).toBe(world.sent.length)
    const stored = world.stored()
    expect(stored.flat().length).toBe(world.sent.length)
    for (const numbers of stored) {
      // Each of the two producers keeps its own order.
      for (const producer of [0, 1]) {
        const mine = numbers.filter(number => number % 2 === producer)
        expect(mine).toEqual([...mine].sort((a, b) => a - b))
      }
    }
  })

  it('happens again the same way from the same seed', () => {
    const [first, second] = [history(3), history(3)]
    expect(second.sent.map(each => each.value)).toEqual(first.sent.map(each => each.value))
    expect(second.members.map(each => each.member.memberId)).toEqual(first.members.map(each => each.member.memberId))
  })

  it('would double records without idempotence: the faults are real', () => {
    const doubled = [0, 1, 2, 3, 4, 5].map(seed => {
      const world = history(seed, false)
      return world.stored().flat().length - world.sent.length
    })
    expect(Math.max(...doubled)).toBeGreaterThan(0)
  })
})
