import { ERROR_CODES, type ErrorName } from '../../protocol/errors.ts'
import type { Handler } from '../handler.ts'
import { canAnswerError } from './error-answer.ts'

/**
 * What a fault is, in plain data: which requests it meets, how often, and what it does to them. Not here: how (faults.ts).
 */

/** Which requests; what is left out matches all. */
export interface FaultTarget {
  /** APIs by Kafka's names, such as `Produce` or `JoinGroup`. */
  readonly api?: string | readonly string[]
  /** Requests about this topic. Of a request about several, an `error` meets only the part that is about it. */
  readonly topic?: string
  readonly partition?: number
  /** Requests about this group. */
  readonly group?: string
  readonly clientId?: string
}

/** How often. */
export interface FaultLimits {
  /** How many requests it meets at the most; all by default. */
  readonly times?: number
  /** How many requests of each connection, of those that were open when the fault was added. */
  readonly timesPerConnection?: number
  /** How many that match are let through first. */
  readonly after?: number
  /** The chance with which a request that matches is met, from 0 to 1, drawn from `seed`. */
  readonly probability?: number
  /** The same seed meets the same requests in the same order; 1 by default. */
  readonly seed?: number
}

/** What happens: exactly one of these. */
export interface FaultAction {
  /** The request is answered with this error. */
  readonly error?: ErrorName
  /** It is worked on so much later, by the broker's clock. */
  readonly delayMs?: number
  /** The connection is closed instead of an answer. */
  readonly drop?: true
  /** It is never answered; whatever follows on its connection waits behind it. */
  readonly swallow?: true
  /** The client is told to pause for so long, and is not read from meanwhile. */
  readonly throttleMs?: number
  /** It waits until it is released. */
  readonly hold?: true
  /**
   * True lets the broker act first, so that the fault meets the answer: an error or a closed connection after the record was
   * appended, which is how an acknowledgement is lost. False by default: the broker does nothing.
   */
  readonly acted?: boolean
}

/** What a gate holds: requests before the broker acts, or, where it has `acted`, their answers. */
export type HoldTarget = FaultTarget & FaultLimits & Pick<FaultAction, 'acted'>

/**
 * A fault on demand.
 *
 * @example
 * // The next two Produce requests to orders are appended, and their acknowledgement is lost.
 * const rule: FaultRule = { api: 'Produce', topic: 'orders', drop: true, acted: true, times: 2 }
 */
export interface FaultRule extends FaultTarget, FaultLimits, FaultAction {}

const ACTIONS = ['error', 'delayMs', 'drop', 'swallow', 'throttleMs', 'hold'] as const
const OTHERS = ['api', 'topic', 'partition', 'group', 'clientId', 'acted']
const NUMBERS = [
  'times',
  'timesPerConnection',
  'after',
  'probability',
  'seed',
  'delayMs',
  'throttleMs',
  'partition',
] as const
const KNOWN: readonly string[] = [...ACTIONS, ...OTHERS, ...NUMBERS]

/** The APIs that a rule names; undefined for all. */
export function apisOf({ api }: FaultTarget): readonly string[] | undefined {
  return typeof api === 'string' ? [api] : api
}

/** What is wrong with a rule, in a sentence; undefined when nothing is. */
export function problemOf(rule: FaultRule, handlers: Iterable<Handler>): string | undefined {
  const strange = Object.keys(rule).find(name => !KNOWN.includes(name))
  if (strange !== undefined) return `a fault has no ${strange}`
  const actions = ACTIONS.filter(name => rule[name] !== undefined)
  if (actions.length !== 1) return `a fault does exactly one of ${ACTIONS.join(', ')}`
  for (const name of NUMBERS) {
    const value = rule[name]
    if (value !== undefined && !(typeof value === 'number' && value >= 0)) return `${name} cannot be ${value}`
  }
  return apiProblem(rule, new Map([...handlers].map(handler => [handler.api.name, handler])))
}

function apiProblem(rule: FaultRule, handlers: ReadonlyMap<string, Handler>): string | undefined {
  for (const name of apisOf(rule) ?? []) {
    const handler = handlers.get(name)
    if (handler === undefined) return `there is no API ${name}`
    if (rule.error !== undefined && !rule.acted && !canAnswerError(handler)) {
      return `${name} cannot be answered with an error alone; drop it, or let the broker act first (acted: true)`
    }
  }
  if (rule.error === undefined) return undefined
  if (!(rule.error in ERROR_CODES)) return `there is no error ${rule.error}`
  return apisOf(rule) === undefined ? 'a fault that answers with an error names the APIs that it is for' : undefined
}
