import { Later } from '../util/later.ts'
import { CLOSE_CONNECTION, type RequestContext } from './handler.ts'
import type { ControllerMessages, Link } from './link.ts'
import { type ForwardedKind, timedOut } from './timed-out.ts'

/**
 * Requests of clients that the controller decides on. As Kafka's `ForwardingManager`, what got lost is sent again, until the time is up.
 */

type Asker = Pick<RequestContext, 'broker' | 'apiVersion'>
/** Whoever has a link to the controller. */
interface Linked {
  readonly broker: { readonly id: number; readonly link: Link }
  readonly apiVersion: number
}
type Request<Kind extends ForwardedKind> = ControllerMessages[Kind]['request']['request']

/** How long a request is tried (`retryTimeoutMs` of Kafka's channel for it), and how long until the next time. */
const FORWARD_TIMEOUT_MS = 60_000
const RETRY_MS = 500

/** Passes a request on to the controller, once; this broker knows what was decided before the answer arrives. */
export function ask<Kind extends ForwardedKind>(
  kind: Kind,
  request: Request<Kind>,
  { broker, apiVersion }: Linked,
  timeoutMs?: number,
): Later<ControllerMessages[Kind]['reply'] | undefined> {
  const message = { request, apiVersion, brokerId: broker.id }
  return broker.link.send(kind, message as ControllerMessages[Kind]['request'], timeoutMs)
}

/**
 * The same for a handler, which gets an answer in any case: REQUEST_TIMED_OUT when the controller cannot be reached. Where no message can be
 * lost, it cannot decide any more, and nobody knows what became of the request: the connection ends.
 */
export function forward<Kind extends ForwardedKind>(
  kind: Kind,
  request: Request<Kind>,
  context: Asker,
): Later<ControllerMessages[Kind]['reply'] | typeof CLOSE_CONNECTION> {
  const { env, link } = context.broker
  if (!link.mayFail) return ask(kind, request, context).map(reply => reply ?? CLOSE_CONNECTION)
  const answered = new Later<ControllerMessages[Kind]['reply'] | typeof CLOSE_CONNECTION>(env.turns)
  const timer = env.timer(FORWARD_TIMEOUT_MS, () => answered.settle(timedOut(kind, request, context.apiVersion)))
  const attempt = () => {
    if (answered.settled) return
    ask(kind, request, context, FORWARD_TIMEOUT_MS).whenSettled(reply => {
      if (reply === undefined) env.timer(RETRY_MS, attempt)
      else if (answered.settle(reply)) timer.cancel()
    })
  }
  attempt()
  return answered
}
