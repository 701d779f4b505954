import type { ControllerMessages } from '../../broker/link.ts'
import type { QuotaEntity } from '../../broker/metadata/quotas.ts'
import { ERROR_CODES, KafkaError } from '../../protocol/errors.ts'
import type { DecisionContext } from '../decision-context.ts'

/** Sets and removes quotas, each entity for itself (`ClientQuotaControlManager`). */

type Message = ControllerMessages['alterClientQuotas']['request']
type Reply = ControllerMessages['alterClientQuotas']['reply']
type Entry = Message['request']['entries'][number]

const CLIENT_KEYS = ['producer_byte_rate', 'consumer_byte_rate', 'request_percentage', 'controller_mutation_rate']
const IP_KEYS = ['connection_creation_rate']
/** Keys whose values are whole numbers. */
const WHOLE = new Set(['producer_byte_rate', 'consumer_byte_rate', 'connection_creation_rate'])

export function alterClientQuotasDecision({ request }: Message, context: DecisionContext): Reply {
  // Of a type that is named twice Kafka knows only the last name.
  const given = request.entries.map(({ entity, ops }) => ({ entity: lastOfEachType(entity), ops }))
  const keys = given.map(({ entity }) => keyOf(entity))
  const first = new Map(keys.map((key, at) => [key, at] as const).reverse())
  const entries = given.map(({ entity, ops }, at) => {
    try {
      check({ entity, ops })
      if (!request.validateOnly && first.get(keys[at]) === at) {
        const named: QuotaEntity[] = entity.map(({ entityType, entityName }) => ({
          type: entityType,
          name: entityName,
        }))
        for (const { key, value, remove } of ops) {
          context.append({ type: 'clientQuota', entity: named, key, value, remove })
        }
      }
      return { errorCode: 0, errorMessage: null, entity }
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      return { errorCode: error.code, errorMessage: error.message, entity }
    }
  })
  // An entity that is named twice is told so once; its first change counts.
  const told = new Map(entries.map((entry, at) => [keys[at], first.get(keys[at]) === at ? entry : duplicate(entry)]))
  return { entries: [...told.values()] }
}

function lastOfEachType(entity: Entry['entity']): Entry['entity'] {
  return [...new Map(entity.map(part => [part.entityType, part])).values()]
}

function keyOf(entity: Entry['entity']): string {
  return JSON.stringify(entity.map(({ entityType, entityName }) => [entityType, entityName]).sort())
}

function duplicate<Answer extends object>(entry: Answer) {
  return { ...entry, errorCode: ERROR_CODES.INVALID_REQUEST, errorMessage: 'Ignoring duplicate entity' }
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
  const forAddress = types.includes('ip')
  if (forAddress && types.length > 1) {
    throw new KafkaError(
      'INVALID_REQUEST',
      'Invalid quota entity combination, ip entity should not be combined with others',
    )
  }
  const [{ entityName }] = entity
  if (forAddress && entityName !== null && !isAddress(entityName)) {
    throw new KafkaError('INVALID_REQUEST', `${entityName} is not a valid IP or resolvable host.`)
  }
  if (new Set(ops.map(({ key }) => key)).size < ops.length) {
    throw new KafkaError('INVALID_REQUEST', 'Ignoring duplicate quota key')
  }
  const known = forAddress ? IP_KEYS : CLIENT_KEYS
  for (const { key, value, remove } of ops) {
    if (remove) continue
    if (!known.includes(key)) throw new KafkaError('INVALID_REQUEST', `Invalid configuration key ${key}`)
    if (!(value > 0)) throw new KafkaError('INVALID_REQUEST', `Quota ${key} must be greater than 0`)
    if (WHOLE.has(key) && !Number.isInteger(value)) {
      throw new KafkaError('INVALID_REQUEST', `Configuration ${key} must be a whole number`)
    }
  }
}

/** An address as digits; names of hosts are not looked up here, and of them only this machine's is known. */
function isAddress(name: string): boolean {
  return (
    /^\d{1,3}(\.\d{1,3}){3}$/.test(name) || (name.includes(':') && /^[\da-f:.]+$/i.test(name)) || name === 'localhost'
  )
}
