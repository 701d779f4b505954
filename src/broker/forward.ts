import type { Later } from '../util/later.ts'
import { CLOSE_CONNECTION, type RequestContext } from './handler.ts'
import type { ControllerMessageKind, ControllerMessages } from './link.ts'

/** The messages that are requests of clients. */
type ForwardedKind = {
  [Kind in ControllerMessageKind]: ControllerMessages[Kind]['request'] extends { request: unknown } ? Kind : never
}[ControllerMessageKind]

/** Passes a request on to the controller; this broker knows what was decided before the answer arrives. */
export function ask<Kind extends ForwardedKind>(
  kind: Kind,
  request: ControllerMessages[Kind]['request']['request'],
  { broker, apiVersion }: Pick<RequestContext, 'broker' | 'apiVersion'>,
): Later<ControllerMessages[Kind]['reply'] | undefined> {
  const message = { request, apiVersion, brokerId: broker.id }
  return broker.link.send(kind, message as ControllerMessages[Kind]['request'])
}

/** The same for a handler. When the controller cannot be asked, nobody knows what became of the request: the connection ends. */
export function forward<Kind extends ForwardedKind>(
  kind: Kind,
  request: ControllerMessages[Kind]['request']['request'],
  context: Pick<RequestContext, 'broker' | 'apiVersion'>,
): Later<ControllerMessages[Kind]['reply'] | typeof CLOSE_CONNECTION> {
  return ask(kind, request, context).map(reply => reply ?? CLOSE_CONNECTION)
}
