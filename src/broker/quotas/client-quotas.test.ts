import { describe, expect, it } from 'vitest'
import { type QuotaEntity, Quotas } from '../metadata/quotas.ts'
import { ClientQuotas } from './client-quotas.ts'

const KEY = 'producer_byte_rate'
const user = (name: string | null): QuotaEntity => ({ type: 'user', name })
const client = (name: string | null): QuotaEntity => ({ type: 'client-id', name })

/** In the order in which they count. */
const ENTITIES: QuotaEntity[][] = [
  [user('u'), client('c')],
  [user('u'), client(null)],
  [user('u')],
  [user(null), client('c')],
  [user(null), client(null)],
  [user(null)],
  [client('c')],
  [client(null)],
]

describe('client quotas', () => {
  it('the most exact entity counts, whichever of them are there', () => {
    for (let chosen = 1; chosen < 1 << ENTITIES.length; chosen++) {
      const quotas = new Quotas()
      const set = ENTITIES.map((_, at) => at).filter(at => chosen & (1 << at))
      for (const at of [...set].reverse()) quotas.set(ENTITIES[at], KEY, at + 1)
      expect(new ClientQuotas(quotas).of(KEY, 'u', 'c', 0)?.limit, String(set)).toBe(set[0] + 1)
    }
  })

  it('an entity without this key does not count, and others have no quota', () => {
    const quotas = new Quotas()
    quotas.set([user('u')], 'consumer_byte_rate', 5)
    quotas.set([client('c')], KEY, 7)
    const clientQuotas = new ClientQuotas(quotas)
    expect(clientQuotas.of(KEY, 'u', 'c', 0)?.limit).toBe(7)
    expect(clientQuotas.of(KEY, 'u', 'd', 0)).toBeUndefined()
    expect(clientQuotas.of('consumer_byte_rate', 'u', 'd', 0)?.limit).toBe(5)
    quotas.set([client('c')], KEY, null)
    expect(clientQuotas.of(KEY, 'u', 'c', 0)).toBeUndefined()
  })

  it('clients use up the quota of a user or of a client id together, and that of a default each its own', () => {
    /** Whether a second client has to wait when the first one has used all there is. */
    const shared = (entity: QuotaEntity[], second: [string, string]) => {
      const quotas = new Quotas()
      quotas.set(entity, KEY, 1000)
      const clientQuotas = new ClientQuotas(quotas)
      clientQuotas.of(KEY, 'u', 'c', 0)?.charge(10_000, 0)
      return clientQuotas.of(KEY, ...second, 0)?.charge(1, 0) !== 0
    }
    expect(shared([user('u')], ['u', 'd'])).toBe(true)
    expect(shared([user(null)], ['u', 'd'])).toBe(true)
    expect(shared([user(null)], ['v', 'c'])).toBe(false)
    expect(shared([client('c')], ['v', 'c'])).toBe(true)
    expect(shared([client(null)], ['v', 'c'])).toBe(true)
    expect(shared([client(null)], ['u', 'd'])).toBe(false)
    expect(shared([user('u'), client(null)], ['u', 'd'])).toBe(false)
  })

  it('a limit that is changed counts for what was used before', () => {
    const quotas = new Quotas()
    quotas.set([client('c')], KEY, 1000)
    const clientQuotas = new ClientQuotas(quotas)
    expect(clientQuotas.of(KEY, 'u', 'c', 0)?.charge(10_000, 0)).toBe(0)
    quotas.set([client('c')], KEY, 500)
    expect(clientQuotas.of(KEY, 'u', 'c', 0)?.charge(0, 0)).toBe(10_000)
    expect(clientQuotas.of(KEY, 'u', 'c', 0)?.windowBytes).toBe(5000)
  })

  it('keeps few rates of clients that are gone', () => {
    const quotas = new Quotas()
    quotas.set([client(null)], KEY, 1000)
    const clientQuotas = new ClientQuotas(quotas)
    for (let at = 0; at < 5000; at++) clientQuotas.of(KEY, 'u', `client-${at}`, at * 1000)?.charge(1, at * 1000)
    expect(clientQuotas.size).toBeLessThanOrEqual(1000)
  })
})
