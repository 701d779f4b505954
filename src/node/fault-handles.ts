/**
 * Faults as whoever asked for them holds them. A handle is a number and calls; the fault itself lives with the broker.
 */
import type { FaultId, FaultMethods } from './broker-methods.ts'
import { OttlaError } from './errors.ts'

/** How long a wait of the testing kit takes at the most, unless it is told otherwise. */
export const WAIT_TIMEOUT_MS = 10_000

/** A fault in force. */
export interface FaultHandle extends AsyncDisposable {
  /** How many requests it has met. */
  count(): Promise<number>
  /**
   * Resolves when it has met `count` requests.
   *
   * @throws OttlaError `OTTLA_TIMEOUT` after `timeoutMs`, 10 seconds by default, with how many it has met.
   *
   * @example
   * const full = await broker.diskFull()
   * const sending = producer.send({ topic: 'orders', messages: [{ value: 'patient' }] })
   * await full.met(2) // refused, tried again, and refused
   * await full.end()
   * await sending
   */
  met(count: number, options?: { timeoutMs?: number }): Promise<void>
  /** Ends it; what it holds goes on. May be called again, and does nothing then. */
  end(): Promise<void>
}

/** A barrier at which requests wait. */
export interface Gate extends FaultHandle {
  /** How many requests wait now. */
  held(): Promise<number>
  /**
   * Resolves when `count` requests wait.
   *
   * @throws OttlaError `OTTLA_TIMEOUT` after `timeoutMs`, 10 seconds by default, with how many there are.
   */
  arrived(count: number, options?: { timeoutMs?: number }): Promise<void>
  /** Lets all go on and opens the gate for good, or lets only the first `count` go on. Resolves with how many went. */
  release(count?: number): Promise<number>
}

export function faultHandle(methods: () => FaultMethods, id: FaultId): FaultHandle {
  const end = async () => {
    try {
      await methods().endFault(id)
    } catch (error) {
      // It ended with its broker.
      if (!(error instanceof OttlaError && error.code === 'OTTLA_BROKER_CLOSED')) throw error
    }
  }
  return {
    count: () => methods().faultCount(id),
    met: (count, { timeoutMs = WAIT_TIMEOUT_MS } = {}) => methods().metBy(id, count, timeoutMs),
    end,
    [Symbol.asyncDispose]: end,
  }
}

export function gate(methods: () => FaultMethods, id: FaultId): Gate {
  return {
    ...faultHandle(methods, id),
    held: () => methods().heldBy(id),
    arrived: (count, { timeoutMs = WAIT_TIMEOUT_MS } = {}) => methods().arrivedAt(id, count, timeoutMs),
    release: count => methods().releaseFrom(id, count),
  }
}
