/**
 * What a fault counts. Brokers that share one fault share one tally, so that `times: 1` is one request of the whole cluster; as the brokers may
 * run in several threads, its cells are changed by atomic operations. It knows nothing of requests.
 */

/** The cells of a tally, which can be sent to other threads. */
export type TallyCells = Int32Array

const SEEN = 0
const MET = 1
const HELD = 2
const CELLS = 3

/** @param shared whether other threads count along */
export function newTally({ shared = false } = {}): TallyCells {
  const bytes = CELLS * Int32Array.BYTES_PER_ELEMENT
  return new Int32Array(shared ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes))
}

/** How many requests were met. */
export function metIn(tally: TallyCells): number {
  return Atomics.load(tally, MET)
}

/** Counts a request that matches. Returns how many there were, with this one. */
export function countSeen(tally: TallyCells): number {
  return Atomics.add(tally, SEEN, 1) + 1
}

/** Counts a request that is met, unless `most` were met already. */
export function countMet(tally: TallyCells, most = Number.POSITIVE_INFINITY): boolean {
  for (;;) {
    const met = metIn(tally)
    if (met >= most) return false
    if (Atomics.compareExchange(tally, MET, met, met + 1) === met) return true
  }
}

/** The place of a request among all that were ever held. */
export function nextHeld(tally: TallyCells): number {
  return Atomics.add(tally, HELD, 1)
}
