import type { Api, FieldSpec, Fields } from '../../src/protocol/dsl.ts'
import { isObject, type Json, type JsonObject } from '../twin/json.ts'

/**
 * What the generator makes and the player plays: requests as scenarios write them (names with `@`, variables with `$`), each
 * on a named connection. A step knows nothing of answers but which of their fields become variables.
 */

export interface Request {
  readonly kind: 'request'
  /** The connection it is sent on. */
  readonly on: string
  readonly api: Api
  readonly version: number
  readonly body: JsonObject
  /** Instead of the body: bytes. */
  readonly hex?: string
  /** Bytes that are missing at the end, or too many there. */
  readonly cut?: number
  readonly extra?: number
  /** Variables by the path of the field that gives them, such as `topics.0.topicId`. */
  readonly bind: Readonly<Record<string, string>>
  /** What the answer lists is not only of this sequence: the rest is left aside. */
  readonly all?: boolean
}

export interface Disconnect {
  readonly kind: 'disconnect'
  readonly on: string
}

export type Step = Request | Disconnect

/** APIs after which a broker needs a moment until all of it knows. */
const CHANGES = new Set([
  'CreateTopics',
  'DeleteTopics',
  'CreatePartitions',
  'Metadata',
  'AlterConfigs',
  'IncrementalAlterConfigs',
  'AlterClientQuotas',
])

export function changesMetadata(step: Step): boolean {
  if (step.kind !== 'request' || !CHANGES.has(step.api.name)) return false
  return step.api.name !== 'Metadata' || step.body.allowAutoTopicCreation !== false
}

/** The body without what the version has no place for. */
export function fitVersion(api: Api, version: number, body: JsonObject): JsonObject {
  const anywhere = new Map<string, FieldSpec[]>()
  collect(api.request.spec.fields, anywhere)
  return fitFields(api.request.spec.fields, anywhere, version, body)
}

function fitFields(fields: Fields, anywhere: Map<string, FieldSpec[]>, version: number, body: JsonObject): JsonObject {
  const fitting: JsonObject = {}
  for (const [name, value] of Object.entries(body)) {
    const spec = fields[name]?.spec
    if (spec !== undefined && !present(spec, version)) continue
    fitting[name] = spec === undefined ? fitFolded(anywhere, version, value) : fitValue(spec, anywhere, version, value)
  }
  return fitting
}

function fitValue(spec: FieldSpec, anywhere: Map<string, FieldSpec[]>, version: number, value: Json): Json {
  if (spec.kind === 'struct' && isObject(value)) return fitFields(spec.fields as Fields, anywhere, version, value)
  if (spec.kind !== 'array' || !Array.isArray(value)) return value
  const element = (spec.element as { spec: FieldSpec }).spec
  return value.map(item => fitValue(element, anywhere, version, item))
}

/** The fields of a partition that stands as `"@t/0": { … }`. */
function fitFolded(anywhere: Map<string, FieldSpec[]>, version: number, value: Json): Json {
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).filter(([name]) => anywhere.get(name)?.some(spec => present(spec, version)) ?? true),
  )
}

function present(spec: FieldSpec, version: number): boolean {
  return version >= spec.since && version <= spec.until
}

function collect(fields: Fields, anywhere: Map<string, FieldSpec[]>): void {
  for (const [name, { spec }] of Object.entries(fields)) {
    anywhere.set(name, [...(anywhere.get(name) ?? []), spec])
    const inner = spec.kind === 'array' ? (spec.element as { spec: FieldSpec }).spec : spec
    if (inner.kind === 'struct') collect(inner.fields as Fields, anywhere)
  }
}
