import { describeClientQuotas } from '../../protocol/apis/describe-client-quotas.ts'
import type { Decoded } from '../../protocol/dsl.ts'
import { KafkaError } from '../../protocol/errors.ts'
import { handler } from '../handler.ts'
import type { QuotaEntity } from '../metadata/quotas.ts'

/** Quotas whose entity matches a filter (KIP-546, `ClientQuotasImage.describe`). */

type Component = Decoded<typeof describeClientQuotas.request>['components'][number]

const EXACT = 0
const ANY = 2

const ENTITY_TYPES: ReadonlySet<string> = new Set(['user', 'client-id', 'ip'])

export const describeClientQuotasHandler = handler(
  describeClientQuotas,
  (request, { broker }) => {
    checkComponents(request.components)
    const entries = broker.image.quotas
      .all()
      .filter(({ entity }) => matches(entity, request.components, request.strict))
      .map(({ entity, values }) => ({
        entity: entity.map(({ type, name }) => ({ entityType: type, entityName: name })),
        values: [...values].map(([key, value]) => ({ key, value })),
      }))
    return { errorMessage: null, entries }
  },
  { refuse: (_request, error) => ({ errorCode: error.code, errorMessage: error.message, entries: null }) },
)

function checkComponents(components: readonly Component[]): void {
  const types = components.map(({ entityType }) => entityType)
  for (const { entityType, matchType, match } of components) {
    if (entityType === '') throw new KafkaError('INVALID_REQUEST', 'Unexpected empty entity type')
    if (!ENTITY_TYPES.has(entityType)) {
      throw new KafkaError('UNSUPPORTED_VERSION', `Unsupported entity type ${entityType}`)
    }
    if (matchType < EXACT || matchType > ANY) throw new KafkaError('INVALID_REQUEST', `Unknown match type ${matchType}`)
    if (matchType === EXACT && match === null) throw new KafkaError('INVALID_REQUEST', 'A name to match is missing')
    if (matchType !== EXACT && match !== null) throw new KafkaError('INVALID_REQUEST', 'A name to match is not wanted')
  }
  if (new Set(types).size < types.length) throw new KafkaError('INVALID_REQUEST', 'Duplicate filter component')
  if (types.includes('ip') && types.length > 1) {
    throw new KafkaError('INVALID_REQUEST', 'Quotas of addresses cannot be combined with others')
  }
}

function matches(entity: readonly QuotaEntity[], components: readonly Component[], strict: boolean): boolean {
  if (strict && entity.length !== components.length) return false
  return components.every(({ entityType, matchType, match }) => {
    const part = entity.find(({ type }) => type === entityType)
    if (part === undefined) return false
    if (matchType === EXACT) return part.name === match
    return matchType === ANY || part.name === null
  })
}
