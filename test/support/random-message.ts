import type { Field, FieldSpec, Fields } from '../../src/protocol/dsl.ts'
import type { Prng } from '../../src/util/prng.ts'
import { utf8Encode } from '../../src/util/utf8.ts'

/**
 * Random messages that a schema allows: small, with names that hit what exists, so that handlers get past their first check.
 */

const NAMES = [
  'orders',
  'payments',
  'missing',
  '__consumer_offsets',
  'g',
  'member-1',
  'range',
  'consumer',
  '',
  'a b',
  '1',
]
const NUMBERS = [0, 1, 2, -1, -2, 3, 7, 100, 1000, 10_000, 127, -128]

export function randomStruct(fields: Fields, version: number, random: Prng): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  for (const [name, { spec }] of Object.entries(fields)) {
    if (version < spec.since || version > spec.until) continue
    value[name] = randomValue(spec, version, random)
  }
  return value
}

function randomValue(spec: FieldSpec, version: number, random: Prng): unknown {
  if (version >= spec.nullableSince && random.next() < 0.2) return null
  switch (spec.kind) {
    case 'int8':
    case 'int16':
    case 'int32':
    case 'int64':
      return random.next() < 0.3 ? spec.default : clamp(pick(NUMBERS, random), spec.kind)
    case 'uint16':
    case 'uint32':
      return Math.floor(random.next() * 65536)
    case 'float64':
      return random.next() * 1000
    case 'bool':
      return random.next() < 0.5
    case 'uuid':
      return random.next() < 0.5 ? 'AAAAAAAAAAAAAAAAAAAAAA' : 'abcdefghijklmnopqrstuA'
    case 'string':
      return pick(NAMES, random)
    case 'bytes':
    case 'records':
      return utf8Encode(pick(NAMES, random))
    case 'array': {
      const element = (spec.element as Field<unknown>).spec
      return Array.from({ length: Math.floor(random.next() * 3) }, () => randomValue(element, version, random))
    }
    case 'struct':
      return randomStruct(spec.fields as Fields, version, random)
  }
}

function clamp(value: number, kind: string): number {
  const limit = kind === 'int8' ? 127 : 32767
  return Math.max(-limit, Math.min(limit, value))
}

export function pick<T>(items: readonly T[], random: Prng): T {
  return items[Math.floor(random.next() * items.length)]
}
