import type { QuotaEntity, Quotas } from '../metadata/quotas.ts'
import { Rate, throttleTimeMs, WINDOW_MS, WINDOWS } from './rate.ts'

/**
 * Holds clients to their quotas (KIP-13, KIP-257, `ClientQuotaManager`): finds the quota that counts for a user and a client id,
 * counts what they use, and says how long they have to pause. Costs one look while no quota is set.
 */

export type QuotaKey = 'producer_byte_rate' | 'consumer_byte_rate'

/** A client's quota at the moment, and what it has used. */
export interface ClientQuota {
  readonly limit: number
  /** The most that fits into all windows: no single answer should be larger. */
  readonly windowBytes: number
  /** Counts `bytes`, and says for how many milliseconds the client has to pause. */
  charge(bytes: number, now: number): number
  /** Takes back what was counted. */
  refund(bytes: number, now: number): void
}

/** Rates beyond this number are looked through for idle ones before another is added. */
const MANY_RATES = 1000

export class ClientQuotas {
  readonly #quotas: Quotas
  readonly #rates = new Map<string, Rate>()

  constructor(quotas: Quotas) {
    this.#quotas = quotas
  }

  /** How many rates are kept. */
  get size(): number {
    return this.#rates.size
  }

  /** The quota that counts for this client, or undefined when it has none. */
  of(key: QuotaKey, user: string, clientId: string, now: number): ClientQuota | undefined {
    if (this.#quotas.isEmpty) return undefined
    for (const { entity, shares } of candidates(user, clientId)) {
      const limit = this.#quotas.limit(entity, key)
      if (limit === undefined) continue
      const rate = this.#rate(JSON.stringify([key, ...shares]), now)
      return {
        limit,
        windowBytes: limit * (WINDOWS - 1) * (WINDOW_MS / 1000),
        charge(bytes, at) {
          rate.record(bytes, at)
          return throttleTimeMs(rate, limit, at)
        },
        refund: (bytes, at) => rate.record(-bytes, at),
      }
    }
    return undefined
  }

  #rate(id: string, now: number): Rate {
    const known = this.#rates.get(id)
    if (known !== undefined) return known
    if (this.#rates.size >= MANY_RATES) {
      for (const [other, rate] of this.#rates) if (rate.isIdle(now)) this.#rates.delete(other)
    }
    const rate = new Rate()
    this.#rates.set(id, rate)
    return rate
  }
}

interface Candidate {
  readonly entity: readonly QuotaEntity[]
  /** Who uses up such a quota together: all clients of a user, all users of a client id, or one of both. */
  readonly shares: readonly [user: string, clientId: string]
}

/** The entities whose quota could count, the most exact first. A quota of a default is each client's own. */
function candidates(user: string, clientId: string): Candidate[] {
  const users = (name: string | null): QuotaEntity => ({ type: 'user', name })
  const clients = (name: string | null): QuotaEntity => ({ type: 'client-id', name })
  return [
    { entity: [users(user), clients(clientId)], shares: [user, clientId] },
    { entity: [users(user), clients(null)], shares: [user, clientId] },
    { entity: [users(user)], shares: [user, ''] },
    { entity: [users(null), clients(clientId)], shares: [user, clientId] },
    { entity: [users(null), clients(null)], shares: [user, clientId] },
    { entity: [users(null)], shares: [user, ''] },
    { entity: [clients(clientId)], shares: ['', clientId] },
    { entity: [clients(null)], shares: ['', clientId] },
  ]
}
