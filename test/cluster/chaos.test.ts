/**
 * Whatever happens to brokers and links, as long as no disk is lost: what was acknowledged by all in-sync replicas is there in the end, once and in
 * order, no two brokers lead in one epoch, and all replicas become the same. CHAOS_SEEDS=1000 goes through more histories.
 */

import { expect, it } from 'vitest'
import { CONTROLLER } from '../../src/cluster/network.ts'
import { unsettled } from '../../src/cluster/unsettled.ts'
import { Prng } from '../../src/util/prng.ts'
import { ClusterWorld } from './world.ts'

const SEEDS = Number(process.env.CHAOS_SEEDS ?? 25)
const BROKERS = [1, 2, 3]
const CONFIGS = {
  'broker.session.timeout.ms': '1000',
  'broker.heartbeat.interval.ms': '300',
  'replica.lag.time.max.ms': '1500',
  'replica.fetch.backoff.ms': '200',
  'leader.imbalance.check.interval.seconds': '5',
}

class Chaos {
  readonly world: ClusterWorld
  readonly #prng: Prng
  readonly #asked: { value: string; error: () => string | undefined }[] = []
  readonly #leaders = new Map<number, number>()

  constructor(seed: number) {
    this.#prng = new Prng(seed)
    // Every other cluster forgets soon, so that who was away gets what became of the metadata.
    this.world = new ClusterWorld(CONFIGS, seed % 2 === 0 ? { historyRecords: 2 } : {})
    this.world.topic('t', [this.#shuffled(BROKERS)], { 'min.insync.replicas': '2' })
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#prng.next() * from.length)]
  }

  #shuffled(ids: readonly number[]): number[] {
    return ids
      .map(id => ({ id, key: this.#prng.next() }))
      .sort((a, b) => a.key - b.key)
      .map(({ id }) => id)
  }

  step(): void {
    const { world } = this
    const { cluster } = world
    const chance = this.#prng.next()
    const node = cluster.node(this.#pick(BROKERS))
    if (chance < 0.55) this.#produce()
    else if (chance < 0.63) node.kill()
    else if (chance < 0.72) {
      if (!node.isUp) node.start()
    } else if (chance < 0.75) void node.stop()
    else if (chance < 0.78) node.pause()
    else if (chance < 0.82) node.resume()
    else if (chance < 0.88) cluster.network[this.#pick(['cut', 'double'] as const)](...this.#way())
    else if (chance < 0.91) cluster.network.slow(...this.#way(), Math.floor(this.#prng.next() * 800))
    else if (chance < 0.97) cluster.network.heal(...this.#way())
    else world.heal()
    world.env.advance(Math.floor(this.#prng.next() * 700))
    this.#look()
  }

  #way(): [number, number] {
    const [from, to] = this.#shuffled([CONTROLLER, ...BROKERS])
    return [from, to]
  }

  /** To whoever believes that it leads, if anybody does. */
  #produce(): void {
    const { cluster } = this.world
    const leads = (id: number) => cluster.broker(id).image.partition('t', 0)?.leader === id
    const believers = BROKERS.filter(id => cluster.node(id).state === 'running' && leads(id))
    if (believers.length === 0) return
    const value = `value ${this.#asked.length}`
    const error = this.world.produce(this.#pick(believers), 't', value, { timeoutMs: 3000 })
    this.#asked.push({ value, error })
  }

  /** One leader per epoch. */
  #look(): void {
    const { leader, leaderEpoch } = this.world.partition('t')
    if (leader < 0) return
    expect(this.#leaders.get(leaderEpoch) ?? leader).toBe(leader)
    this.#leaders.set(leaderEpoch, leader)
  }

  end(): string[] {
    const { world } = this
    const { cluster } = world
    world.heal()
    for (const id of BROKERS) {
      cluster.node(id).resume()
      if (!cluster.node(id).isUp) cluster.node(id).start()
    }
    // Whoever was just being stopped is started again, too.
    for (let round = 0; round < 60 && unsettled(cluster) !== undefined; round++) {
      world.env.advance(1000)
      for (const id of BROKERS) if (!cluster.node(id).isUp) cluster.node(id).start()
    }
    world.env.advance(5000)
    expect(unsettled(cluster)).toBeUndefined()
    const [one, two, three] = BROKERS.map(id => world.stored(id, 't'))
    expect(two).toEqual(one)
    expect(three).toEqual(one)
    return this.#asked.filter(({ error }) => error() === 'NONE').map(({ value }) => value)
  }
}

it.each(Array.from({ length: SEEDS }, (_, index) => index + 1))('seed %i', { timeout: 60_000 }, seed => {
  const chaos = new Chaos(seed)
  for (let step = 0; step < 120; step++) chaos.step()
  const acknowledged = chaos.end()
  const stored = chaos.world.stored(1, 't')
  expect(new Set(stored).size).toBe(stored.length)
  expect(stored.filter(value => acknowledged.includes(value))).toEqual(acknowledged)
  expect(chaos.world.consumed(chaos.world.partition('t').leader, 't').values).toEqual(stored)
})
