import type { ControllerMessages } from '../../broker/link.ts'
import type { QuotaEntity } from '../../broker/metadata/quotas.ts'
import { KafkaError } from '../../protocol/errors.ts'
import type { DecisionContext } from '../controller.ts'

/** Sets and removes quotas, each entity for itself (`ClientQuotaControlManager`). */

type Message = ControllerMessages['alterClientQuotas']['request']
type Reply = ControllerMessages['alterClientQuotas']['reply']
type Entry = Message['request']['entries'][number]

const CLIENT_KEYS = ['producer_byte_rate', 'consumer_byte_rate', 'request_percentage', 'controller_mutation_rate']
const IP_KEYS = ['connection_creation_rate']
/** Keys whose values are whole numbers. */
const WHOLE = new Set(['producer_byte_rate', 'consumer_byte_rate', 'connection_creation_rate'])

export function alterClientQuotasDecision({ request }: Message, context: DecisionContext): Reply {
  const entries = request.entries.map(entry => {
    const { entity } = entry
    try {
      check(entry)
      if (!request.validateOnly) {
        const named: QuotaEntity[] = entity.map(({ entityType, entityName }) => ({
          type: entityType,
          name: entityName,
        }))
        for (const { key, value, remove } of entry.ops) {
          context.append({ type: 'clientQuota', entity: named, key, value, remove })
        }
      }
      return { errorCode: 0, errorMessage: null, entity }
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      return { errorCode: error.code, errorMessage: error.message, entity }
    }
  })
  return { entries }
}

function check({ entity, ops }: Entry): void {
  const types = entity.map(({ entityType }) => entityType)
  if (types.length === 0) throw new KafkaError('INVALID_REQUEST', 'Invalid empty client quota entity')
  for (const { entityType, entityName } of entity) {
    if (!['user', 'client-id', 'ip'].includes(entityType)) {
      throw new KafkaError('INVALID_REQUEST', `Unhandled client quota entity type: ${entityType}`)
    }
    if (entityName === '') throw new KafkaError('INVALID_REQUEST', `Empty ${entityType} not supported`)
  }
  if (new Set(types).size < types.length)
    throw new KafkaError('INVALID_REQUEST', 'Invalid entity, duplicate entity type')
  const forAddress = types.includes('ip')
  if (forAddress && types.length > 1) {
    throw new KafkaError(
      'INVALID_REQUEST',
      'Invalid quota entity combination, ip entity should not be combined with others',
    )
  }
  const known = forAddress ? IP_KEYS : CLIENT_KEYS
  for (const { key, value, remove } of ops) {
    if (!known.includes(key)) throw new KafkaError('INVALID_REQUEST', `Invalid configuration key ${key}`)
    if (remove) continue
    if (!(value > 0)) throw new KafkaError('INVALID_REQUEST', `Quota ${key} must be greater than 0`)
    if (WHOLE.has(key) && !Number.isInteger(value)) {
      throw new KafkaError('INVALID_REQUEST', `Configuration ${key} must be a whole number`)
    }
  }
}
