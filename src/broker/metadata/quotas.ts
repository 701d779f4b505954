/** Client quotas as the metadata has them (`ClientQuotasImage`): for whom, and how much of what. */

export interface QuotaEntity {
  /** `user`, `client-id` or `ip`. */
  readonly type: string
  /** Null for the default of the type. */
  readonly name: string | null
}

export interface Quota {
  readonly entity: readonly QuotaEntity[]
  readonly values: Map<string, number>
}

export class Quotas {
  readonly #quotas = new Map<string, Quota>()

  get isEmpty(): boolean {
    return this.#quotas.size === 0
  }

  /** One value of exactly this entity's quota. */
  limit(entity: readonly QuotaEntity[], key: string): number | undefined {
    return this.#quotas.get(quotaKey(entity))?.values.get(key)
  }

  all(): Quota[] {
    return [...this.#quotas.values()]
  }

  /** Sets one value of an entity's quota; null takes it away. */
  set(entity: readonly QuotaEntity[], key: string, value: number | null): void {
    const id = quotaKey(entity)
    const quota = this.#quotas.get(id) ?? { entity, values: new Map<string, number>() }
    if (value === null) quota.values.delete(key)
    else quota.values.set(key, value)
    if (quota.values.size === 0) this.#quotas.delete(id)
    else this.#quotas.set(id, quota)
  }
}

function quotaKey(entity: readonly QuotaEntity[]): string {
  return JSON.stringify(entity.map(({ type, name }) => [type, name]).sort())
}
