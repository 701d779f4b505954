/**
 * Tests of the tests: each fault that is planted in the broker is found within so many histories. The seed is fixed, so that the
 * answer is the same every time; the numbers are no less than what the slowest of forty other seeds took.
 */

import * as fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { compactionHistories } from './compactions.ts'
import { groupHistories } from './groups.ts'
import { logHistories } from './logs.ts'
import {
  DUPLICATE,
  EARLY_WATERMARK,
  EXPIRED_MEMBER,
  type Fault,
  FIRST_OF_KEY,
  GAP,
  GREEDY_RETENTION,
  LASTING_ISR,
  NO_TRUNCATION,
  SAME_HASH,
  STALE_GENERATION,
  SURVIVING_OFFSETS,
} from './planted.ts'
import { replicaHistories } from './replicas.ts'

interface Case {
  fault: Fault
  by: string
  histories: fc.IRawProperty<unknown>
  within: number
}

const groups = { by: 'groups', histories: groupHistories() as fc.IRawProperty<unknown> }
const logs = { by: 'logs', histories: logHistories() as fc.IRawProperty<unknown> }
const compactions = { by: 'compactions', histories: compactionHistories() as fc.IRawProperty<unknown> }
const replicas = { by: 'replicas', histories: replicaHistories() as fc.IRawProperty<unknown> }

const CASES: Case[] = [
  { fault: STALE_GENERATION, within: 20, ...groups },
  { fault: EXPIRED_MEMBER, within: 40, ...groups },
  { fault: SURVIVING_OFFSETS, within: 40, ...groups },
  { fault: DUPLICATE, within: 20, ...groups },
  { fault: DUPLICATE, within: 20, ...logs },
  { fault: GAP, within: 20, ...logs },
  { fault: GREEDY_RETENTION, within: 40, ...logs },
  { fault: FIRST_OF_KEY, within: 20, ...compactions },
  { fault: SAME_HASH, within: 20, ...compactions },
  { fault: EARLY_WATERMARK, within: 20, ...replicas },
  { fault: NO_TRUNCATION, within: 200, ...replicas },
  { fault: LASTING_ISR, within: 60, ...replicas },
]

describe('planted in the broker', () => {
  let takeOut = () => {}
  afterEach(() => takeOut())

  it.each(CASES)('$fault.name: $by tell within $within histories', { timeout: 120_000 }, row => {
    takeOut = row.fault.plant()
    const parameters = { numRuns: row.within, seed: 1, endOnFailure: true }
    const found = fc.check(row.histories, parameters) as fc.RunDetails<unknown>
    expect(found.failed).toBe(true)
    // It must be the comparison that tells, or a group that does not come to rest, and not something that broke down.
    expect(String(found.errorInstance)).toMatch(/^AssertionError|did not settle/)
  })
})
