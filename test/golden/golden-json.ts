// Translates between the JSON that Kafka's own converters write and the values of our codec. Uuids are the same text
// in both; bytes and records are base64 there; an integer beyond ±(2^53 − 1) is a decimal string there.

import type { Field, FieldSpec, Fields } from '../../src/protocol/dsl.ts'

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** What decoding must give: every field of the schema, those that the version lacks (or the tags leave out) at their default. */
export function expectedValue(fields: Fields, version: number, json: Json): Record<string, unknown> {
  return structOf(fields, version, json as { [name: string]: Json }, saturated, true)
}

/** What is given to encoding: only what the JSON says, integers however large. */
export function valueToEncode(fields: Fields, version: number, json: Json): Record<string, unknown> {
  return structOf(fields, version, json as { [name: string]: Json }, Number, false)
}

/** True when something in `json` does not fit into a JavaScript number. */
export function isWide(fields: Fields, version: number, json: Json): boolean {
  let wide = false
  structOf(
    fields,
    version,
    json as { [name: string]: Json },
    text => {
      wide = true
      return Number(text)
    },
    false,
  )
  return wide
}

type ToNumber = (text: string) => number

function saturated(text: string): number {
  return BigInt(text) < 0n ? -Number.MAX_SAFE_INTEGER : Number.MAX_SAFE_INTEGER
}

function structOf(
  fields: Fields,
  version: number,
  json: { [name: string]: Json },
  toNumber: ToNumber,
  withDefaults: boolean,
): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  for (const [name, { spec }] of Object.entries(fields)) {
    const present = version >= spec.since && version <= spec.until
    if (name in json) {
      if (!present) throw new Error(`the schema lacks ${name} in version ${version}`)
      value[name] = fieldOf(spec, version, json[name], toNumber, withDefaults)
    } else {
      if (present && spec.tag === undefined) throw new Error(`${name} is not in version ${version}`)
      if (withDefaults) value[name] = defaultOf(spec)
    }
  }
  for (const name of Object.keys(json)) if (!(name in fields)) throw new Error(`the schema lacks ${name}`)
  return value
}

function fieldOf(spec: FieldSpec, version: number, json: Json, toNumber: ToNumber, withDefaults: boolean): unknown {
  if (json === null) return null
  switch (spec.kind) {
    case 'int64':
      return typeof json === 'string' ? toNumber(json) : json
    case 'bytes':
    case 'records':
      return Uint8Array.from(Buffer.from(json as string, 'base64'))
    case 'array': {
      const element = (spec.element as Field<unknown>).spec
      return (json as Json[]).map(item => fieldOf(element, version, item, toNumber, withDefaults))
    }
    case 'struct':
      return structOf(spec.fields as Fields, version, json as { [name: string]: Json }, toNumber, withDefaults)
    default:
      return json
  }
}

function defaultOf(spec: FieldSpec): unknown {
  if (spec.kind !== 'struct' || spec.default === null) return spec.default
  return Object.fromEntries(Object.entries(spec.fields as Fields).map(([name, field]) => [name, defaultOf(field.spec)]))
}
