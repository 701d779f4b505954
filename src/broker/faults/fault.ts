import type { Api } from '../../protocol/dsl.ts'
import { Prng } from '../../util/prng.ts'
import type { RequestContext } from '../handler.ts'
import { apisOf, type FaultRule } from './fault-rule.ts'
import { type Fields, isAbout, type RequestScope, scopeOf } from './request-scope.ts'
import { countMet, countSeen, metIn, newTally, type TallyCells } from './tally.ts'

/**
 * One fault that is in force: how many requests it has met, and which it holds. A request on its way is a {@link Call}.
 */

/** A request that faults look at. What it is about is found out when first asked for. */
export class Call {
  readonly schema: Api
  readonly context: RequestContext
  request: Fields
  #scope: RequestScope | undefined

  constructor(schema: Api, request: Fields, context: RequestContext) {
    this.schema = schema
    this.request = request
    this.context = context
  }

  /** The name of its API. */
  get api(): string {
    return this.schema.name
  }

  get scope(): RequestScope {
    this.#scope ??= scopeOf(this.api, this.request, this.context.broker)
    return this.#scope
  }

  /** The request without what dies when the connection goes on: records are views of its buffer. */
  keep(): void {
    this.request = withOwnBytes(this.request) as Fields
  }
}

function withOwnBytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return value.slice()
  if (Array.isArray(value)) return value.map(withOwnBytes)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withOwnBytes(member)]))
}

/** A request that waits. */
export interface Held {
  readonly connectionId: number
  /** Its place among all that the fault ever held. */
  readonly order: number
  /** Lets it go on. */
  release(): void
  /** Its client is gone: it ends without a word. */
  drop(): void
}

export class Fault {
  readonly rule: FaultRule
  readonly held = new Set<Held>()
  /** What is counted; other brokers may count along. */
  readonly tally: TallyCells
  readonly #apis: ReadonlySet<string> | undefined
  readonly #prng: Prng
  /** The first connection that is too young for `timesPerConnection`. */
  readonly #nextConnectionId: number
  readonly #byConnection = new Map<number, number>()
  #ended = false

  constructor(rule: FaultRule, nextConnectionId: number, tally = newTally()) {
    const apis = apisOf(rule)
    this.rule = rule
    this.tally = tally
    this.#apis = apis && new Set(apis)
    this.#prng = new Prng(rule.seed ?? 1)
    this.#nextConnectionId = nextConnectionId
  }

  /** How many requests it has met. */
  get count(): number {
    return metIn(this.tally)
  }

  get ended(): boolean {
    return this.#ended
  }

  end(): void {
    this.#ended = true
  }

  /** Whether a request is one that it is for. */
  matches(call: Call): boolean {
    const { rule } = this
    if (this.#ended || (this.#apis !== undefined && !this.#apis.has(call.api))) return false
    if (rule.clientId !== undefined && rule.clientId !== call.context.clientId) return false
    if (rule.topic === undefined && rule.partition === undefined && rule.group === undefined) return true
    return isAbout(call.scope, rule)
  }

  /** Whether it meets a request that matches; counts it then. */
  claim({ context: { connectionId } }: Call): boolean {
    const { times, timesPerConnection, after = 0, probability } = this.rule
    if (this.#ended || (times !== undefined && this.count >= times)) return false
    const ofConnection = this.#byConnection.get(connectionId) ?? 0
    if (timesPerConnection !== undefined) {
      if (connectionId >= this.#nextConnectionId || ofConnection >= timesPerConnection) return false
    }
    if (countSeen(this.tally) <= after) return false
    if (probability !== undefined && this.#prng.next() >= probability) return false
    if (!countMet(this.tally, times)) return false
    this.#byConnection.set(connectionId, ofConnection + 1)
    return true
  }
}
