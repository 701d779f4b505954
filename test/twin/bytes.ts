import { decodeMessage, encodeMessage, isFlexible } from '../../src/protocol/codec.ts'
import type { Message } from '../../src/protocol/dsl.ts'
import {
  consumerProtocolAssignment,
  consumerProtocolSubscription,
} from '../../src/protocol/embedded/consumer-protocol.ts'
import { ByteReader } from '../../src/util/byte-reader.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { isObject, type Json, type JsonObject, textOf } from './json.ts'
import type { Names } from './names.ts'
import { encodable } from './request.ts'
import { plain } from './shape.ts'

/**
 * Byte fields: text when it can be printed, `hex:…` otherwise, the blobs of the consumer protocol as
 * `{ subscription: … }` and `{ assignment: … }`.
 */

/** The bytes that a scenario means; null for null. */
export function parseBytes(given: Json, names: Names): Uint8Array | null {
  const value = names.resolve(given)
  if (value === null) return null
  if (isObject(value)) {
    if (value.subscription !== undefined) return blob(consumerProtocolSubscription, value.subscription, value, names)
    if (value.assignment !== undefined) return blob(consumerProtocolAssignment, value.assignment, value, names)
    if (value.times !== undefined) {
      return Uint8Array.from(Buffer.from(textOf(value.repeat ?? 'x').repeat(Number(value.times))))
    }
    throw new TypeError(`no bytes: ${JSON.stringify(value)}`)
  }
  const text = names.text(textOf(value))
  return text.startsWith('hex:') ? parseHex(text.slice(4)) : Uint8Array.from(Buffer.from(text))
}

/** Hexadecimal digits, blanks between them allowed. */
export function parseHex(text: string): Uint8Array {
  const digits = text.replace(/\s/g, '')
  if (!/^([0-9a-f]{2})*$/i.test(digits)) throw new TypeError(`not hexadecimal: ${text}`)
  return Uint8Array.from(Buffer.from(digits, 'hex'))
}

function blob(definition: Message, json: Json, options: JsonObject, names: Names): Uint8Array {
  const version = Number(options.version ?? 3)
  const body = encodable(definition.name, definition.body.spec.fields, json as JsonObject, names)
  return concat([Uint8Array.of(version >> 8, version), encodeMessage(definition, version, body)])
}

/** What a byte field of an answer reads as. */
export function showBytes(field: string, bytes: Uint8Array): Json {
  const name = field.toLowerCase()
  if (bytes.length > 2) {
    const shown = name.endsWith('metadata')
      ? showBlob('subscription', consumerProtocolSubscription, bytes)
      : name.endsWith('assignment')
        ? showBlob('assignment', consumerProtocolAssignment, bytes)
        : undefined
    if (shown !== undefined) return shown
  }
  return showText(bytes)
}

/** Undefined when it is no such blob, and nothing but it. */
function showBlob(kind: string, definition: Message, bytes: Uint8Array): Json | undefined {
  const reader = new ByteReader(bytes)
  const version = reader.int16()
  if (version < 0 || version > 3) return undefined
  try {
    const body = decodeMessage(definition, version, reader)
    if (reader.remaining > 0 || isFlexible(definition, version)) return undefined
    const shown = plain(definition.body.spec.fields, body, version)
    if (body.userData instanceof Uint8Array) shown.userData = Buffer.from(body.userData).toString('base64')
    return version === 3 ? { [kind]: shown } : { [kind]: shown, version }
  } catch {
    return undefined
  }
}

/** Printable ASCII as it is, everything else as `hex:…`. */
export function showText(bytes: Uint8Array): string {
  const { length } = bytes
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, length)
  return bytes.every(byte => byte >= 32 && byte <= 126) ? text.toString('latin1') : `hex:${text.toString('hex')}`
}
