import { describe, expect, it } from 'vitest'
import { startBroker } from '../../src/node/index.ts'
import { generate } from './generator.ts'
import { minimise } from './minimise.ts'
import { play } from './player.ts'
import { printScenario } from './print.ts'
import { warmUp } from './side.ts'

/**
 * The fuzzer without Kafka, so that it does not rot: Ottla plays against another Ottla, and the two must agree. That every
 * request is answered, parked or ends its connection is part of that, and that Ottla finds no mistake of its own.
 */

const SEQUENCES = 30

describe('the generator', () => {
  it('makes the same sequence of the same seed, and another of another', () => {
    const show = (seed: number) => printScenario('s', generate(seed), undefined)
    expect(show(7)).toBe(show(7))
    expect(show(7)).not.toBe(show(8))
  })

  it('asks for every API that it is about within a few hundred sequences', () => {
    const seeds = Array.from({ length: 300 }, (_, seed) => seed)
    const steps = seeds.flatMap(generate).flatMap(step => (step.kind === 'request' ? [step] : []))
    expect(new Set(steps.map(({ api }) => api.name)).size).toBeGreaterThan(30)
    for (const name of ['Fetch', 'Produce', 'JoinGroup', 'OffsetFetch']) {
      const of = steps.filter(({ api, hex }) => api.name === name && hex === undefined)
      const [min, max] = of[0].api.versions
      expect(new Set(of.map(({ version }) => version)).size).toBe(max - min + 1)
    }
  })
})

describe('minimising', () => {
  it('leaves only what is needed', async () => {
    const items = Array.from({ length: 40 }, (_, index) => index)
    const found = await minimise(items, async fewer => fewer.includes(3) && fewer.includes(31), 200)
    expect(found).toEqual([3, 31])
  })

  it('stops when the budget is spent', async () => {
    let asked = 0
    const found = await minimise([1, 2, 3, 4], async () => ++asked < 0, 3)
    expect(found).toEqual([1, 2, 3, 4])
    expect(asked).toBe(3)
  })
})

describe('two Ottlas', () => {
  it(`agree in ${SEQUENCES} sequences`, { timeout: 60_000 }, async () => {
    const fatal: Error[] = []
    const options = { log: false as const, onFatal: (error: Error) => fatal.push(error) }
    await using one = await startBroker(options)
    await using other = await startBroker(options)
    await warmUp(one)
    await warmUp(other)
    let next = 0
    let steps = 0
    const lane = async () => {
      while (next < SEQUENCES) {
        const seed = next++
        const played = await play(generate(seed), one, other)
        steps += played.steps.length
        const { difference } = played
        expect(difference && printScenario(`seed ${seed}`, played.steps, difference)).toBeUndefined()
      }
    }
    await Promise.all(Array.from({ length: 8 }, lane))
    expect(fatal).toEqual([])
    expect(steps).toBeGreaterThan(SEQUENCES * 10)
  })
})
