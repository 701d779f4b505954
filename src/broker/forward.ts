import type { Later } from '../util/later.ts'
import type { RequestContext } from './handler.ts'
import type { ControllerMessageKind, ControllerMessages } from './link.ts'

/** The messages that are requests of clients. */
type ForwardedKind = {
  [Kind in ControllerMessageKind]: ControllerMessages[Kind]['request'] extends { request: unknown } ? Kind : never
}[ControllerMessageKind]

/** Passes a request on to the controller; this broker knows what was decided before the answer arrives. */
export function forward<Kind extends ForwardedKind>(
  kind: Kind,
  request: ControllerMessages[Kind]['request']['request'],
  { broker, apiVersion }: Pick<RequestContext, 'broker' | 'apiVersion'>,
): Later<ControllerMessages[Kind]['reply']> {
  const message = { request, apiVersion, brokerId: broker.id }
  return broker.link.send(kind, message as ControllerMessages[Kind]['request'])
}
