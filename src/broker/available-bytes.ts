/** How much a fetch that waits could have, without reading it (a part of `DelayedFetch.tryComplete`). */

import type { Log } from '../log/log.ts'
import type { Isolation } from '../log/read.ts'
import { KafkaError } from '../protocol/errors.ts'

/** Bytes from `offset` on, at most `max`. More than any when they cannot be read: then nobody waits, and reading says why. */
export function availableBytes(log: Log, offset: number, isolation: Isolation, max: number): number {
  try {
    return log.availableBytes(offset, isolation, max)
  } catch (error) {
    if (error instanceof KafkaError) return Number.POSITIVE_INFINITY
    throw error
  }
}
