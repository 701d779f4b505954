/**
 * Histories of one replicated partition that the model (`ReplicatedPartition`) and a cluster go through side by side: appends, replicas that
 * die, come back, fall silent and are put out of the in-sync replicas, elections that are clean or not. After each act everything has time
 * to come to rest; then all that can be seen has to be the same, down to what each replica has in its log.
 */

import * as fc from 'fast-check'
import { expect } from 'vitest'
import type { Partition } from '../../src/broker/partition.ts'
import {
  NotEnoughReplicasError,
  NotLeaderError,
  OffsetOutOfRangeError,
  RequestTimedOutError,
} from '../../src/model/errors.ts'
import { ReplicatedPartition } from '../../src/model/index.ts'
import { ClusterWorld } from '../cluster/world.ts'

const TOPIC = 'replicated'
/** No follower may lag at all. When that is looked at is a matter of the acts, see `World.rest`. */
const NO_LAG = new Map([['replica.lag.time.max.ms', '1']])
/** Nobody leaves the in-sync replicas, and nobody leads again, unless an act says so. */
const CONFIGS = {
  'replica.lag.time.max.ms': '1000000000',
  'auto.leader.rebalance.enable': 'false',
  'broker.session.timeout.ms': '600',
  'broker.heartbeat.interval.ms': '200',
  'replica.fetch.backoff.ms': '100',
}
/** Time for a session to end, a leader to be elected, and everybody to fetch, twice. */
const REST_MS = 2500

interface Setup {
  replicas: number[]
  minInsyncReplicas: number
  uncleanLeaderElection: boolean
}

class Model extends ReplicatedPartition<null, string> {
  readonly setup: Setup
  readonly dead = new Set<number>()
  readonly stalled = new Set<number>()

  constructor(setup: Setup) {
    super(setup)
    this.setup = setup
  }

  get living(): number[] {
    return this.setup.replicas.filter(id => !this.dead.has(id))
  }

  /** Whether a follower lacks something that its leader has. */
  isBehind(id: number): boolean {
    return this.leader !== null && this.log(id).length < this.log(this.leader).length
  }
}

class World extends ClusterWorld {
  constructor({ replicas, minInsyncReplicas, uncleanLeaderElection }: Setup) {
    super(CONFIGS, { count: replicas.length, mayFail: true })
    const configs = {
      'min.insync.replicas': String(minInsyncReplicas),
      'unclean.leader.election.enable': String(uncleanLeaderElection),
    }
    this.topic(TOPIC, [replicas], configs)
    this.rest()
  }

  rest(): void {
    this.env.settle()
    // The timer that looks for followers that lag goes by what a broker was started with; everything else by this.
    for (const { config } of this.cluster.brokers) config.setDynamic(NO_LAG, new Map())
    this.env.advance(REST_MS)
  }

  #local(broker: number): Partition {
    const { topicId } = this.cluster.image.topicsByName.get(TOPIC) as { topicId: string }
    return this.cluster.broker(broker).replicas.find(topicId, 0) as Partition
  }

  highWatermark(broker: number): number {
    return this.#local(broker).highWatermark
  }

  /** The broker lives, and its followers do not fetch. */
  stall(broker: number): void {
    const { fetchers } = this.cluster.broker(broker).replication
    fetchers.stop()
    fetchers.update = () => {}
  }

  resume(broker: number): void {
    const { fetchers } = this.cluster.broker(broker).replication
    delete (fetchers as Partial<typeof fetchers>).update
    fetchers.update(this.#local(broker))
  }

  /** The time that a follower may lag has passed, for whoever does not fetch. */
  shrinkIsr(leader: number): void {
    this.cluster.broker(leader).replicas.shrinkIsrs()
  }
}

/** What can be seen of the two is the same. */
function agree(model: Model, world: World): void {
  const [anybody] = model.living
  if (anybody === undefined) return
  const { leaderId, leaderEpoch, isrNodes } = world.believed(anybody, TOPIC)
  const { leader } = model
  expect({ leader: leaderId < 0 ? null : leaderId, leaderEpoch }).toEqual({ leader, leaderEpoch: model.leaderEpoch })
  // With nobody in sync who lives, Kafka remembers who may lead in lists of their own.
  if (leader === null) return
  expect(isrNodes.toSorted()).toEqual(model.isr)
  expect(world.highWatermark(leader)).toBe(model.highWatermark)
  for (const id of model.living) {
    expect(world.stored(id, TOPIC), `log of ${id}`).toEqual(model.log(id).map(({ value }) => value))
  }
}

/** The name under which a broker says what the model throws, or NONE. */
function nameOf(call: () => void): string {
  try {
    call()
    return 'NONE'
  } catch (error) {
    if (error instanceof NotEnoughReplicasError) return 'NOT_ENOUGH_REPLICAS'
    if (error instanceof RequestTimedOutError) return 'REQUEST_TIMED_OUT'
    if (error instanceof OffsetOutOfRangeError) return 'OFFSET_OUT_OF_RANGE'
    if (error instanceof NotLeaderError) return 'NOT_LEADER_OR_FOLLOWER'
    throw error
  }
}

abstract class Act implements fc.Command<Model, World> {
  check(_model: Readonly<Model>): boolean {
    return true
  }
  abstract act(model: Model, world: World): void
  run(model: Model, world: World) {
    this.act(model, world)
    world.rest()
    agree(model, world)
  }
  toString() {
    return `${this.constructor.name} ${Object.values(this).join(' ')}`
  }
}

class Append extends Act {
  readonly acks: 1 | 'all'
  readonly value: string
  constructor(acks: 1 | 'all', value: string) {
    super()
    this.acks = acks
    this.value = value
  }
  override check(model: Model) {
    return model.living.length > 0
  }
  act(model: Model, world: World) {
    const broker = model.leader ?? model.living[0]
    const error = nameOf(() => model.append(null, this.value, { acks: this.acks }))
    const answered = world.produce(broker, TOPIC, this.value, { acks: this.acks === 'all' ? -1 : 1, timeoutMs: 50 })
    world.env.advance(50)
    expect(answered()).toBe(error)
  }
}

/** A consumer at the leader. */
class Read extends Act {
  readonly offset: number
  constructor(offset: number) {
    super()
    this.offset = offset
  }
  override check(model: Model) {
    return model.leader !== null
  }
  act(model: Model, world: World) {
    let values: string[] = []
    const error = nameOf(() => {
      values = model.read(this.offset).map(({ value }) => value)
    })
    expect(world.consumed(model.leader as number, TOPIC, this.offset)).toMatchObject({ error, values })
  }
}

/** An act on one replica. */
abstract class ReplicaAct extends Act {
  readonly index: number
  constructor(index: number) {
    super()
    this.index = index
  }
  idIn({ setup }: Model): number {
    return setup.replicas[this.index % setup.replicas.length]
  }
}

class Kill extends ReplicaAct {
  override check(model: Model) {
    const id = this.idIn(model)
    if (model.dead.has(id)) return false
    // When the last in-sync replica dies below the minimum, Kafka waits for those that it remembers (mapping.md).
    const { minInsyncReplicas, replicas } = model.setup
    return Math.min(minInsyncReplicas, replicas.length) === 1 || model.isr.some(other => other !== id)
  }
  act(model: Model, world: World) {
    const id = this.idIn(model)
    model.dead.add(id)
    model.stalled.delete(id)
    model.kill(id)
    world.cluster.node(id).kill()
  }
}

class Restart extends ReplicaAct {
  override check(model: Model) {
    return model.dead.has(this.idIn(model))
  }
  act(model: Model, world: World) {
    const id = this.idIn(model)
    model.dead.delete(id)
    model.restart(id)
    world.cluster.node(id).start()
  }
}

class Stall extends ReplicaAct {
  override check(model: Model) {
    const id = this.idIn(model)
    return !model.dead.has(id) && !model.stalled.has(id)
  }
  act(model: Model, world: World) {
    const id = this.idIn(model)
    model.stalled.add(id)
    model.stall(id)
    world.stall(id)
  }
}

class Resume extends ReplicaAct {
  override check(model: Model) {
    return model.stalled.has(this.idIn(model))
  }
  act(model: Model, world: World) {
    const id = this.idIn(model)
    model.stalled.delete(id)
    model.resume(id)
    world.resume(id)
  }
}

class ShrinkIsr extends Act {
  override check(model: Model) {
    const { leader, isr, stalled, setup } = model
    if (leader === null) return false
    const silent = isr.filter(id => id !== leader && stalled.has(id))
    // Who has everything stays in sync however silent it is; and below the minimum Kafka remembers who left (mapping.md).
    const left = isr.length - silent.length
    return silent.every(id => model.isBehind(id)) && left >= Math.min(setup.minInsyncReplicas, setup.replicas.length)
  }
  act(model: Model, world: World) {
    world.shrinkIsr(model.leader as number)
    model.shrinkIsr()
  }
}

const replica = fc.nat(2)
const append = fc
  .tuple(fc.constantFrom(1 as const, 'all' as const), fc.string({ maxLength: 5 }))
  .map(args => new Append(...args))
// As often as everything that happens to replicas, or else there would be little that they can lose.
const commands = [
  append,
  append,
  append,
  fc.nat(8).map(offset => new Read(offset)),
  replica.map(index => new Kill(index)),
  replica.map(index => new Restart(index)),
  replica.map(index => new Stall(index)),
  replica.map(index => new Resume(index)),
  fc.constant(new ShrinkIsr()),
]

const setups: fc.Arbitrary<Setup> = fc
  .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 2 }), fc.boolean())
  .map(([count, minInsyncReplicas, unclean]) => ({
    replicas: [1, 2, 3].slice(0, count),
    minInsyncReplicas,
    // Below the minimum an unclean leader knows less of the watermark than the model, which sees everything.
    uncleanLeaderElection: unclean && minInsyncReplicas === 1,
  }))

/** The property: whatever happens, model and cluster agree. */
export function replicaHistories() {
  return fc.property(setups, fc.commands(commands, { maxCommands: 30, size: 'max' }), (setup, history) => {
    fc.modelRun(() => ({ model: new Model(setup), real: new World(setup) }), history)
  })
}
