import type { FieldSpec, Fields } from '../../src/protocol/dsl.ts'
import { errorName } from '../../src/protocol/errors.ts'
import { showBytes } from './bytes.ts'
import { isContainer, isObject, type Json, type JsonObject, textOf } from './json.ts'
import type { Names } from './names.ts'
import { showRecords } from './records.ts'
import { PARTITION_FIELDS, TOPIC_FIELDS } from './request.ts'

/**
 * From a decoded answer to the JSON that scenarios expect: the fields that its version has (tagged ones when they are not at
 * their default, as Kafka's `JsonConverter`s have it), errors by name, bytes and records readable, partitions folded into
 * `"topic/0": { … }`.
 */

/** A whole answer. Ids of topics that stand in it are remembered. */
export function showAnswer(fields: Fields, value: object, version: number, names: Names): JsonObject {
  return fold(structOf(fields, value as Record<string, unknown>, version, names), names) as JsonObject
}

/** A struct without any making readable. Bytes in it read as base64. */
export function plain(fields: Fields, value: object, version: number): JsonObject {
  return structOf(fields, value as Record<string, unknown>, version, undefined)
}

function structOf(
  fields: Fields,
  value: Record<string, unknown>,
  version: number,
  names: Names | undefined,
): JsonObject {
  names?.learn(value)
  const shown: JsonObject = {}
  for (const [name, { spec }] of Object.entries(fields)) {
    if (version < spec.since || version > spec.until) continue
    if (spec.tag !== undefined && isDefault(spec, value[name])) continue
    shown[name] = fieldOf(name, spec, value[name], version, names)
  }
  return shown
}

function fieldOf(name: string, spec: FieldSpec, value: unknown, version: number, names: Names | undefined): Json {
  if (value === null || value === undefined) return null
  if (spec.kind === 'struct') return structOf(spec.fields as Fields, value as Record<string, unknown>, version, names)
  if (spec.kind === 'array') {
    const element = (spec.element as { spec: FieldSpec }).spec
    return (value as unknown[]).map(item => fieldOf('', element, item, version, names))
  }
  if (value instanceof Uint8Array) {
    if (names === undefined) return Buffer.from(value).toString('base64')
    return spec.kind === 'records' ? showRecords(value, names) : showBytes(name, value)
  }
  if (typeof value === 'number' && names !== undefined) {
    if (name === 'errorCode' || name.endsWith('ErrorCode')) return errorName(value)
    if (isTime(name)) return names.time(value)
  }
  return value as Json
}

function isTime(name: string): boolean {
  return /^timestamp$|Timestamp$|^logAppendTimeMs$|^transactionStartTimeMs$/.test(name)
}

function isDefault(spec: FieldSpec, value: unknown): boolean {
  if (value === null || spec.default === null) return value === spec.default
  if (spec.kind === 'array') return (value as unknown[]).length === 0
  if (spec.kind === 'bytes' || spec.kind === 'records') return (value as Uint8Array).length === 0
  if (spec.kind !== 'struct') return value === spec.default
  const members = value as Record<string, unknown>
  return Object.entries(spec.fields as Fields).every(([name, member]) => isDefault(member.spec, members[name]))
}

/** `topics: [{ name: t, partitions: [{ index: 0, … }] }]` becomes `"t/0": { … }`, for the first list that has this form. */
function fold(value: Json, names: Names): Json {
  if (Array.isArray(value)) return value.map(item => fold(item, names))
  if (!isContainer(value)) return value
  const shown: JsonObject = {}
  let done = false
  for (const [name, member] of Object.entries(value)) {
    const folded = done ? undefined : foldedList(member, names)
    if (folded === undefined) shown[name] = fold(member, names)
    else {
      done = true
      for (const [partition, rest] of folded) shown[partition] = fold(rest, names)
    }
  }
  return shown
}

/** Undefined when the list is not of topics with partitions, and nothing else. */
function foldedList(list: Json, names: Names): Map<string, JsonObject> | undefined {
  if (!Array.isArray(list) || list.length === 0) return undefined
  const folded = new Map<string, JsonObject>()
  for (const topic of list) {
    const found = topicOf(topic, names)
    if (found === undefined) return undefined
    for (const partition of found.partitions) {
      const field = isObject(partition) ? PARTITION_FIELDS.find(name => Object.hasOwn(partition, name)) : undefined
      if (field === undefined) return undefined
      const { [field]: index, ...rest } = partition as JsonObject
      const name = `${found.name}/${textOf(index)}`
      if (folded.has(name)) return undefined
      folded.set(name, rest)
    }
  }
  return folded
}

function topicOf(topic: Json, names: Names): { name: string; partitions: Json[] } | undefined {
  if (!isObject(topic)) return undefined
  let name: string | undefined
  let partitions: Json[] | undefined
  for (const [field, member] of Object.entries(topic)) {
    if (TOPIC_FIELDS.includes(field)) {
      const text = field === 'topicId' ? names.topicOf(textOf(member)) : textOf(member)
      if (text !== '') name = text
    } else if (Array.isArray(member) && partitions === undefined) partitions = member
    else return undefined
  }
  if (name === undefined || partitions === undefined || partitions.length === 0) return undefined
  return { name, partitions }
}
