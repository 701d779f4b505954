import type { FieldSpec, Fields } from '../../src/protocol/dsl.ts'
import { ERROR_CODES, type ErrorName } from '../../src/protocol/errors.ts'
import { parseBytes } from './bytes.ts'
import { has, isObject, type Json, type JsonObject, textOf } from './json.ts'
import type { Names } from './names.ts'
import { encodeRecords } from './records.ts'

/**
 * From the JSON of a scenario to what the codec encodes: names and ids put in, `"@t/0": { … }` unfolded into lists of topics
 * and partitions, left-out fields at values that are of use.
 */

/** The field that names a topic, and the one that numbers a partition, whatever the API calls them. */
export const TOPIC_FIELDS = ['name', 'topic', 'topicName', 'topicId']
export const PARTITION_FIELDS = ['index', 'partitionIndex', 'partition']

/** The value of one struct. @throws TypeError when the JSON says what the schema does not have */
export function encodable(api: string, fields: Fields, json: JsonObject, names: Names): Record<string, unknown> {
  const value = usefulDefaults(api, fields)
  const folded = new Map<string, [partition: number | undefined, Json][]>()
  for (const [given, member] of Object.entries(json)) {
    const name = names.text(given)
    const slash = name.lastIndexOf('/')
    if (slash >= 0) {
      const partition = name.slice(slash + 1)
      const topic = name.slice(0, slash)
      if (!folded.has(topic)) folded.set(topic, [])
      folded.get(topic)?.push([partition === '' ? undefined : Number(partition), member])
      continue
    }
    if (!Object.hasOwn(fields, name)) throw new TypeError(`no field ${name} in ${api}`)
    value[name] = fieldValue(api, fields[name].spec, member, names)
  }
  if (folded.size > 0) unfold(api, fields, folded, value, names)
  return value
}

/** What a left-out field is, where the schema's own default would be useless. */
function usefulDefaults(api: string, fields: Fields): Record<string, unknown> {
  const values: Record<string, unknown> = {
    replicaId: -1,
    acks: -1,
    timeoutMs: 5000,
    sessionTimeoutMs: 10_000,
    transactionTimeoutMs: 60_000,
    currentLeaderEpoch: -1,
    ...(!api.startsWith('Share') && { minBytes: 1 }),
    ...(api === 'Fetch' && { partitionMaxBytes: 1_048_576 }),
    ...(api === 'JoinGroup' && { rebalanceTimeoutMs: 10_000, protocolType: 'consumer' }),
  }
  return Object.fromEntries(Object.entries(values).filter(([name]) => Object.hasOwn(fields, name)))
}

function unfold(
  api: string,
  fields: Fields,
  folded: ReadonlyMap<string, [partition: number | undefined, Json][]>,
  value: Record<string, unknown>,
  names: Names,
): void {
  const list = listOf(fields, true)
  if (list === undefined) throw new TypeError(`no list of topics in ${api}`)
  const topicFields = elementOf(list.spec).fields as Fields
  const partitions = listOf(topicFields, false)
  if (partitions === undefined) throw new TypeError(`no list of partitions in ${api}`)
  const element = elementOf(partitions.spec)
  value[list.name] = [...folded].map(([topic, members]) => {
    const shown: Record<string, unknown> = {}
    for (const field of TOPIC_FIELDS) {
      if (!Object.hasOwn(topicFields, field)) continue
      const name = field === 'topicId' ? names.idOf(topic) : topic
      if (name !== undefined) shown[field] = name
    }
    shown[partitions.name] = members
      .filter(([index]) => index !== undefined)
      .map(([index, member]) => partitionValue(api, element, index as number, member, names))
    return shown
  })
}

function partitionValue(api: string, element: FieldSpec, index: number, member: Json, names: Names): unknown {
  if (element.kind === 'int32') return index
  const fields = element.fields as Fields
  const json = Array.isArray(member) ? { records: member } : (member as JsonObject)
  return { ...encodable(api, fields, json, names), [partitionField(fields) as string]: index }
}

/** The first list of topics (which have partitions), or of partitions. */
function listOf(fields: Fields, ofTopics: boolean): { name: string; spec: FieldSpec } | undefined {
  for (const [name, { spec }] of Object.entries(fields)) {
    if (spec.kind !== 'array') continue
    const element = elementOf(spec)
    const members = element.fields ?? {}
    const fits = ofTopics
      ? TOPIC_FIELDS.some(field => Object.hasOwn(members, field)) && listOf(members, false) !== undefined
      : element.kind === 'int32' || partitionField(members) !== undefined
    if (fits) return { name, spec }
  }
  return undefined
}

function partitionField(fields: Fields): string | undefined {
  return PARTITION_FIELDS.find(name => Object.hasOwn(fields, name))
}

function elementOf(spec: FieldSpec): FieldSpec {
  return (spec.element as { spec: FieldSpec }).spec
}

function fieldValue(api: string, spec: FieldSpec, given: Json, names: Names): unknown {
  const value = names.resolve(given)
  if (value === null) return null
  switch (spec.kind) {
    case 'string':
      return has(value, 'times') ? 'x'.repeat(Number(value.times)) : textOf(value)
    case 'uuid':
      return textOf(value)
    case 'bool':
      return value === true || value === 'true'
    case 'int8':
      return (numberOf(value, names) << 24) >> 24
    case 'int16':
      return (numberOf(value, names) << 16) >> 16
    case 'int32':
      return numberOf(value, names) | 0
    case 'uint16':
    case 'uint32':
    case 'int64':
      return numberOf(value, names)
    case 'float64':
      return Number(value)
    case 'bytes':
      return parseBytes(value, names)
    case 'records':
      return encodeRecords(value, names)
    case 'array':
      return (Array.isArray(value) ? value : Object.values(value)).map(item =>
        fieldValue(api, elementOf(spec), item, names),
      )
    case 'struct':
      if (!isObject(value)) throw new TypeError(`no struct: ${JSON.stringify(value)}`)
      return encodable(api, spec.fields as Fields, value, names)
  }
}

/** A number, a time such as `now-5`, or the code of an error. */
export function numberOf(given: Json, names: Names): number {
  const value = names.resolve(given)
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  const text = textOf(value)
  if (text.startsWith('now')) return names.now + Number(text.slice(3))
  if (/^-?\d+$/.test(text)) return Number(text)
  const code = ERROR_CODES[text as ErrorName]
  if (code === undefined) throw new TypeError(`no number: ${text}`)
  return code
}
