import type { RequestContext } from '../handler.ts'
import { ANONYMOUS } from '../principal.ts'
import type { ClientQuota, QuotaKey } from './client-quotas.ts'

/** Where requests meet quotas: what a handler asks, and what it says. */

/** The quota that counts for who sent this request. */
export function quotaOf(key: QuotaKey, { broker, clientId, now }: RequestContext): ClientQuota | undefined {
  return broker.clientQuotas.of(key, ANONYMOUS.name, clientId ?? '', now)
}

/** Counts the bytes of a Produce request, which is carried out all the same: only the answers that follow are late. */
export function chargeProduce(context: RequestContext): void {
  const quota = quotaOf('producer_byte_rate', context)
  if (quota !== undefined) context.throttleTimeMs = quota.charge(context.requestBytes, context.now)
}

/**
 * Counts the bytes of an answer to Fetch. When they are too many the client gets an empty answer instead, which is not counted.
 *
 * @returns true when the client has to wait
 */
export function chargeFetch(quota: ClientQuota, responseBytes: number, context: RequestContext): boolean {
  const now = context.broker.env.now()
  context.throttleTimeMs = quota.charge(responseBytes, now)
  if (context.throttleTimeMs === 0) return false
  quota.refund(responseBytes, now)
  return true
}
