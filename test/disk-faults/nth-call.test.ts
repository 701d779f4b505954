// Each call on the disk that a workload makes fails once. A full disk refuses, keeps what it acknowledged, and serves again when there is
// room; a bad one takes a partition or the broker offline, and what was acknowledged is there after a restart.

import { describe, expect, it } from 'vitest'
import { Failure, type Fault } from './failing-file-system.ts'
import { Place } from './place.ts'
import { Workload } from './workload.ts'

/** The calls are gone through in steps of so many; OTTLA_EVERY_CALL=1 takes every one. */
const STRIDE = process.env.OTTLA_EVERY_CALL ? 1 : 33
const TRIES = 4

const NEEDS_NO_BROKER = /^(start|stop|kill)/

/** Goes through the workload; whoever is refused tries again, and starts the broker again where it has ended. */
function run(failure: Failure): { place: Place; workload: Workload; refused: string[]; givenUp: string[] } {
  const place = new Place(failure)
  const workload = new Workload()
  const refused: string[] = []
  const givenUp: string[] = []
  for (const [name, step] of workload.steps) {
    let outcome = 'NONE'
    for (let left = TRIES; left > 0; left--) {
      if (!place.isUp && !NEEDS_NO_BROKER.test(name)) {
        givenUp.push(`${name}: the broker had ended: ${place.refusal}`)
        place.start()
      }
      outcome = step(place)
      if (outcome === 'NONE') break
      refused.push(`${name}: ${outcome}`)
      // Somebody hears of it, and does something.
      failure.mend()
      if (place.isUp) place.wait(500)
    }
    if (outcome !== 'NONE') givenUp.push(`${name}: ${outcome}`)
  }
  failure.mend()
  return { place, workload, refused, givenUp }
}

/** What is wrong after one call failed, or nothing. */
function check(fault: Fault, number: number): string[] {
  const failure = new Failure(fault, number)
  const { place, workload, refused, givenUp } = run(failure)
  const context = `${fault} at call ${number}, ${failure.hit}; refused ${refused}: `
  const problems: string[] = []
  const demandAll = (when: string) => {
    if (!place.isUp && !place.start()) problems.push(`${context}does not start ${when}: ${place.refusal}`)
    else problems.push(...workload.problems(place).map(problem => `${context}${problem} ${when}`))
  }
  // Where there is room again nobody has to start anything; a log that failed waits for a restart.
  if (fault === 'full') {
    problems.push(...givenUp.map(step => `${context}still refused with room: ${step}`))
    demandAll('when there is room')
  }
  place.losePower()
  demandAll('after a power cut')
  return problems
}

function checkAll(fault: Fault): string[] {
  const whole = new Failure(fault, Number.POSITIVE_INFINITY)
  run(whole)
  expect(whole.count).toBeGreaterThan(100)
  const problems: string[] = []
  for (let number = 0; number < whole.count; number += STRIDE) problems.push(...check(fault, number))
  return problems
}

describe('a workload on a disk', () => {
  it('goes through, and what was acknowledged is there', () => {
    const { place, workload, refused } = run(new Failure('once', Number.POSITIVE_INFINITY))
    expect(refused).toEqual([])
    expect(workload.problems(place)).toEqual([])
  })

  it('that is full at any call refuses what needs room, and serves again without a restart when there is some', () => {
    expect(checkAll('full')).toEqual([])
  })

  it('that fails at any call loses nothing that was acknowledged, and serves again after a restart', () => {
    expect(checkAll('once')).toEqual([])
  })

  it('that is broken from any call on loses nothing that was acknowledged, and serves again once it is mended', () => {
    expect(checkAll('broken')).toEqual([])
  })
})
