import { ERROR_CODES, type ErrorName } from '../../protocol/errors.ts'
import { Later } from '../../util/later.ts'
import type { Timer } from '../../util/timer-queue.ts'
import type { Broker } from '../broker.ts'
import {
  type Answer,
  answer,
  CLOSE_CONNECTION,
  type Handler,
  isLater,
  type Reply,
  type RequestContext,
} from '../handler.ts'
import { isAnsweredFirst, merge, putError, split } from './error-answer.ts'
import { Call, Fault, type Held } from './fault.ts'
import { type FaultRule, problemOf } from './fault-rule.ts'
import { type Fields, PLACES } from './request-scope.ts'
import { nextHeld, type TallyCells } from './tally.ts'

/**
 * Faults on demand: stands between the connection and the handler, and only while a fault is in force. Faults that meet the same
 * request nest in the order in which they were added: one that delays and one that refuses do both. Nothing of it is Kafka's; what
 * clients see is.
 */

/** What a connection asks instead of the handler. */
export interface Interceptor {
  handle(handler: Handler, request: unknown, context: RequestContext): Reply<unknown>
  disconnected(connectionId: number): void
}

/** Who looks at requests and changes nothing. */
interface Observer {
  observe(api: string, request: unknown, reply: Reply<unknown>, context: RequestContext): void
  disconnected(connectionId: number): void
}

export class Faults implements Interceptor {
  readonly #broker: Broker
  readonly #observer: Observer | undefined
  /** Replaced, never changed: a request that waits goes on with those that it began with. */
  #active: readonly Fault[] = []

  /** @param observer looks at every request, with or without faults */
  constructor(broker: Broker, observer?: Observer) {
    this.#broker = broker
    this.#observer = observer
  }

  /** What is wrong with a rule; undefined when it can be added. */
  problemOf(rule: FaultRule): string | undefined {
    return problemOf(rule, this.#broker.handlers.values())
  }

  /** @param tally what other brokers with the same fault count along in; its own by default */
  add(rule: FaultRule, tally?: TallyCells): Fault {
    const fault = new Fault(rule, this.#broker.nextConnectionId, tally)
    this.#set([...this.#active, fault])
    return fault
  }

  /** Ends a fault; what it holds goes on. */
  end(fault: Fault): void {
    fault.end()
    this.#set(this.#active.filter(each => each !== fault))
    release(fault)
  }

  endAll(): void {
    for (const fault of this.#active) this.end(fault)
  }

  #set(active: readonly Fault[]): void {
    this.#active = active
    this.#broker.interceptor = this.isNeeded ? this : undefined
  }

  /** Whether requests have to pass here. */
  get isNeeded(): boolean {
    return this.#active.length > 0 || this.#observer !== undefined
  }

  disconnected(connectionId: number): void {
    this.#observer?.disconnected(connectionId)
    for (const { held } of this.#active) {
      for (const each of held) if (each.connectionId === connectionId) each.drop()
    }
  }

  handle(handler: Handler, request: unknown, context: RequestContext): Reply<unknown> {
    const reply = this.#run(handler, new Call(handler.api, request as Fields, context), this.#active)
    this.#observer?.observe(handler.api.name, request, reply, context)
    return reply
  }

  /** Works on a request under the faults of `faults`, the first outermost. */
  #run(handler: Handler, call: Call, faults: readonly Fault[]): Reply<unknown> {
    const at = faults.findIndex(fault => fault.matches(call) && (this.#claimsLater(fault, call) || fault.claim(call)))
    if (at < 0) return answer(handler, call.request, call.context)
    const fault = faults[at]
    const next = () => this.#run(handler, call, faults.slice(at + 1))
    const { rule } = fault
    if (rule.error !== undefined) return this.#refuse(handler, call, fault, faults.slice(at + 1))
    if (rule.throttleMs !== undefined) return this.#throttle(rule.throttleMs, call, next)
    if (rule.acted) return then(next(), this.#broker, said => this.#meet(fault, call, () => said))
    return this.#meet(fault, call, next)
  }

  /** Where the answer alone says whether the fault has anything to do with it, it is counted then. */
  #claimsLater({ rule }: Fault, call: Call): boolean {
    return rule.error !== undefined && isAnsweredFirst(call.api, call.request)
  }

  #meet(fault: Fault, call: Call, next: () => Reply<unknown>): Reply<unknown> {
    const { rule } = fault
    if (rule.drop) return this.#note(call, fault, CLOSE_CONNECTION)
    if (rule.swallow) return this.#swallow(call, fault)
    return this.#wait(fault, call, next)
  }

  #note<T>(call: Call, { rule }: Fault, reply: T): T {
    call.context.fault = nameOf(rule)
    return reply
  }

  #throttle(throttleMs: number, { context }: Call, next: () => Reply<unknown>): Reply<unknown> {
    return then(next(), this.#broker, said => {
      context.throttleTimeMs = Math.max(context.throttleTimeMs, throttleMs)
      context.fault = `throttleMs ${throttleMs}`
      return said
    })
  }

  /** A `Later` that nobody settles: the connection waits, as for a broker that hangs. */
  #swallow(call: Call, fault: Fault): Reply<unknown> {
    this.#note(call, fault, undefined)
    const { requestLog, env } = this.#broker
    const seen = requestLog.look(call.schema, call.request, call.context)
    if (seen !== undefined) requestLog.answered(seen, undefined, env.now())
    return new Later<Answer<unknown>>(env.turns)
  }

  #wait(fault: Fault, call: Call, next: () => Reply<unknown>): Reply<unknown> {
    const { env } = this.#broker
    const { rule, held } = fault
    this.#note(call, fault, undefined)
    call.keep()
    const later = new Later<Answer<unknown>>(env.turns)
    let timer: Timer | undefined
    const end = () => {
      timer?.cancel()
      return held.delete(each)
    }
    const each: Held = {
      connectionId: call.context.connectionId,
      order: nextHeld(fault.tally),
      release: () => {
        if (!end()) return
        // For whoever works on it, the request comes now.
        Object.assign(call.context, { now: env.now() })
        env.turns.enqueue(() => this.#goOn(later, call, next))
      },
      drop: end,
    }
    held.add(each)
    if (rule.delayMs !== undefined) timer = env.timer(rule.delayMs, each.release)
    return later
  }

  #goOn(later: Later<Answer<unknown>>, call: Call, next: () => Reply<unknown>): void {
    try {
      const reply = next()
      if (isLater(reply)) reply.whenSettled(said => later.settle(said))
      else later.settle(reply)
    } catch (error) {
      this.#broker.fatal(error, { api: call.api, connection: call.context.connectionId })
      later.settle(CLOSE_CONNECTION)
    }
  }

  #refuse(handler: Handler, call: Call, fault: Fault, others: readonly Fault[]): Reply<unknown> {
    const { api, request } = call
    if (isAnsweredFirst(api, request) || fault.rule.acted) {
      const claims = this.#claimsLater(fault, call)
      return then(this.#run(handler, call, others), this.#broker, said => this.#put(call, fault, said, claims))
    }
    return this.#note(call, fault, this.#refuseUnacted(handler, call, fault, others))
  }

  /** Puts the error into an answer, if there is a place for it. */
  #put(call: Call, fault: Fault, said: Answer<unknown>, claims: boolean): Answer<unknown> {
    const { rule } = fault
    if (typeof said !== 'object' || said === null || rule.error === undefined) return said
    const changed = putError(call.api, said as Fields, rule, rule.error, this.#broker)
    if (changed === undefined || (claims && !fault.claim(call))) return said
    return this.#note(call, fault, changed)
  }

  #refuseUnacted(handler: Handler, call: Call, { rule }: Fault, others: readonly Fault[]): Reply<unknown> {
    const error = rule.error as ErrorName
    const place = PLACES[call.api]
    if (place === undefined) return { errorCode: ERROR_CODES[error] }
    // There is no answer to be told an error in: Kafka ends the connection.
    if (call.request.acks === 0) return CLOSE_CONNECTION
    const { entries, rest } = split(place, call.request, rule, error, this.#broker)
    if (rest === undefined) return { [place.response]: entries }
    // A session would not know the partitions that were cut out.
    call.request = call.api === 'Fetch' ? { ...rest, sessionId: 0, sessionEpoch: -1 } : rest
    return then(this.#run(handler, call, others), this.#broker, said =>
      typeof said === 'object' && said !== null ? merge(place, said as Fields, entries) : said,
    )
  }
}

/** Lets all go on that a fault holds, or the first `count`. Returns how many. */
export function release({ held }: Fault, count = held.size): number {
  const released = [...held].slice(0, count)
  for (const each of released) each.release()
  return released.length
}

/** Does something with an answer, now or when it is there. */
function then(
  reply: Reply<unknown>,
  { env }: Broker,
  change: (said: Answer<unknown>) => Reply<unknown>,
): Reply<unknown> {
  if (!isLater(reply)) return change(reply)
  const later = new Later<Answer<unknown>>(env.turns)
  reply.whenSettled(said => {
    const changed = change(said)
    if (isLater(changed)) changed.whenSettled(final => later.settle(final))
    else later.settle(changed)
  })
  return later
}

/** A fault in a word or two, as the trace tells it. */
function nameOf(rule: FaultRule): string {
  const acted = rule.acted ? ' once acted' : ''
  if (rule.error !== undefined) return `${rule.error}${acted}`
  if (rule.delayMs !== undefined) return `delayed ${rule.delayMs} ms${acted}`
  const [name] = (['drop', 'swallow', 'hold'] as const).filter(each => rule[each])
  return `${{ drop: 'dropped', swallow: 'swallowed', hold: 'held' }[name]}${acted}`
}
