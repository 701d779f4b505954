/**
 * Replay equals live: what a process rebuilds from the disk is what the one before it had in memory. Metadata, groups with their
 * offsets, producers, and where logs begin and end. Holds for a process that was killed; after a power cut it may be less.
 */

import type { RunningBroker } from '../broker-process.ts'
import { type BrokerState, type LogState, stateOf } from '../broker-state.ts'
import { Violation } from '../history.ts'

const NAME = 'replay'

/** Demands that `rebuilt` has all that `live` had; log starts may have been impossible to write down. */
export function demandSameState(live: BrokerState, rebuilt: RunningBroker, keepsDeletions: boolean): void {
  const found = stateOf(rebuilt, true)
  for (const part of ['metadata', 'groups'] as const) {
    for (const key of new Set([...Object.keys(live[part]), ...Object.keys(found[part])])) {
      demandSame(`${part} ${key}`, live[part][key], found[part][key])
    }
  }
  for (const [key, before] of Object.entries(live.logs)) {
    const after = found.logs[key] as LogState | undefined
    if (after === undefined) throw new Violation(NAME, `${before.name} is gone`)
    for (const field of ['startOffset', 'endOffset', 'producers'] as const) {
      if (!keepsDeletions && field !== 'endOffset') continue
      demandSame(`${field} of ${before.name}`, before[field], after[field])
    }
    if (after.epoch < before.epoch)
      throw new Violation(NAME, `${before.name} has epoch ${after.epoch}, had ${before.epoch}`)
  }
}

function demandSame(what: string, live: unknown, rebuilt: unknown): void {
  const [one, other] = [JSON.stringify(live), JSON.stringify(rebuilt)]
  if (one !== other) throw new Violation(NAME, `${what} was ${one} and is rebuilt as ${other}`)
}
