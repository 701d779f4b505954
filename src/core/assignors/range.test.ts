/** Range within racks (KIP-881), case by case; what all assignors promise is in assignors.test.ts. */

import { describe, expect, it } from 'vitest'
import { rangeAssignor } from './range.ts'

type Racks = Record<string, string[][]>

/** What each member gets, as `topic` to partitions. A member is `name: [rack, ...topics]`; the racks say how many partitions there are. */
function assign(members: Record<string, [rack: string | undefined, ...topics: string[]]>, racks: Racks) {
  const assignment = rangeAssignor.assign({
    members: Object.entries(members).map(([memberId, [rackId, ...topics]]) => ({ memberId, rackId, topics })),
    partitions: new Map(Object.entries(racks).map(([topic, each]) => [topic, each.length])),
    racks: new Map(Object.entries(racks)),
  })
  const told: Record<string, Record<string, number[]>> = {}
  for (const [memberId, owned] of assignment) {
    told[memberId] = {}
    for (const { topic, partition } of owned) (told[memberId][topic] ??= []).push(partition)
  }
  return told
}

describe('one topic', () => {
  it('goes to who is near', () => {
    const racks = { t: [['r2'], ['r1'], ['r2'], ['r1']] }
    expect(assign({ a: ['r1', 't'], b: ['r2', 't'] }, racks)).toEqual({ a: { t: [1, 3] }, b: { t: [0, 2] } })
  })

  it('gives nobody more than a share, however near', () => {
    const racks = { t: [['r1'], ['r1'], ['r1'], ['r2']] }
    expect(assign({ a: ['r1', 't'], b: ['r2', 't'] }, racks)).toEqual({ a: { t: [0, 1] }, b: { t: [2, 3] } })
  })

  it('is split as without racks when they make no difference, beside one for which they do', () => {
    const racks = { s: [['r1'], ['r2']], t: [['r1'], ['r1'], ['r1'], ['r1']] }
    expect(assign({ a: ['r9', 's', 't'], b: ['r1', 's', 't'] }, racks)).toEqual({
      a: { s: [1], t: [0, 1] },
      b: { s: [0], t: [2, 3] },
    })
  })

  it('is not taken together with one that has other subscribers', () => {
    const racks = { s: [['r1'], ['r2']], t: [['r2'], ['r1']] }
    expect(assign({ a: ['r1', 's', 't'], b: ['r2', 't'] }, racks)).toEqual({ a: { s: [0, 1], t: [1] }, b: { t: [0] } })
  })
})

describe('topics that are split alike', () => {
  it('are split as without racks when they make no difference', () => {
    const racks = { s: [['r1'], ['r1']], t: [['r1'], ['r1']] }
    expect(assign({ a: ['r9', 's', 't'], b: ['r1', 's', 't'] }, racks)).toEqual({
      a: { s: [0], t: [0] },
      b: { s: [1], t: [1] },
    })
  })

  it('go to who is near in all of them', () => {
    const racks = { s: [['r2'], ['r1']], t: [['r3'], ['r3']] }
    expect(assign({ a: ['r1', 's', 't'], b: ['r2', 's', 't'] }, racks)).toEqual({
      a: { s: [0], t: [0] },
      b: { s: [1], t: [1] },
    })
  })

  it('go to the next who is near when the first has a share', () => {
    const each = [['r1'], ['r1', 'r3'], ['r9']]
    const racks = { s: each, t: each }
    expect(assign({ a: ['r1', 's', 't'], b: ['r2', 's', 't'], c: ['r3', 's', 't'] }, racks)).toEqual({
      a: { s: [0], t: [0] },
      b: { s: [2], t: [2] },
      c: { s: [1], t: [1] },
    })
  })
})
