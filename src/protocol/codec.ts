import { ByteError, ByteReader } from '../util/byte-reader.ts'
import { ByteWriter } from '../util/byte-writer.ts'
import { utf8Length } from '../util/utf8.ts'
import { uuidFromBytes, uuidToBytes } from '../util/uuid.ts'
import type { Decoded, Encodable, Field, FieldSpec, Fields, Message, Struct } from './dsl.ts'

/**
 * Reads and writes messages by interpreting their schema. Lengths are held against the bytes that remain before
 * anything is allocated. Follows the generated code of Kafka's `MessageDataGenerator`; truth is `test/golden/`.
 */

/** Thrown when a value cannot be written: a null or a field that the version does not have, a value out of range. */
export class EncodeError extends Error {
  override readonly name = 'EncodeError'
}

interface Entry {
  name: string
  spec: FieldSpec
}

/** The fields of a struct as one version has them. */
interface Plan {
  plain: Entry[]
  tagged: Entry[]
  absent: Entry[]
}

const plans = new WeakMap<Fields, Plan[]>()

function planOf(fields: Fields, version: number): Plan {
  let byVersion = plans.get(fields)
  if (byVersion === undefined) plans.set(fields, (byVersion = []))
  return (byVersion[version] ??= makePlan(fields, version))
}

function makePlan(fields: Fields, version: number): Plan {
  const plan: Plan = { plain: [], tagged: [], absent: [] }
  for (const [name, { spec }] of Object.entries(fields)) {
    const present = version >= spec.since && version <= spec.until
    const list = !present ? plan.absent : spec.tag === undefined ? plan.plain : plan.tagged
    list.push({ name, spec })
  }
  plan.tagged.sort((a, b) => (a.spec.tag as number) - (b.spec.tag as number))
  return plan
}

/** Reads one struct; the reader is left behind it. */
export function readStruct<F extends Fields>(
  schema: Struct<F>,
  version: number,
  flexible: boolean,
  reader: ByteReader,
): Decoded<Struct<F>> {
  return readFields(schema.spec.fields, version, flexible, reader) as Decoded<Struct<F>>
}

function readFields(fields: Fields, version: number, flexible: boolean, reader: ByteReader): Record<string, unknown> {
  const plan = planOf(fields, version)
  const value: Record<string, unknown> = {}
  for (const { name, spec } of plan.plain) value[name] = readField(spec, version, flexible, reader)
  for (const { name, spec } of plan.absent) value[name] = defaultOf(spec, version)
  for (const { name, spec } of plan.tagged) value[name] = defaultOf(spec, version)
  if (flexible) readTags(plan, version, reader, value)
  return value
}

function readTags(plan: Plan, version: number, reader: ByteReader, value: Record<string, unknown>): void {
  const count = reader.uvarint()
  for (let index = 0; index < count; index++) {
    const tag = reader.uvarint()
    const size = reader.uvarint()
    const end = reader.position + size
    const entry = plan.tagged.find(candidate => candidate.spec.tag === tag)
    if (entry === undefined) {
      reader.skip(size)
      continue
    }
    if (size > reader.remaining) throw new ByteError(`tag ${tag} of ${size} bytes, ${reader.remaining} left`)
    value[entry.name] = readField(entry.spec, version, true, reader)
    if (reader.position !== end) throw new ByteError(`tag ${tag} is not ${size} bytes long`)
  }
}

function readField(spec: FieldSpec, version: number, flexible: boolean, reader: ByteReader): unknown {
  switch (spec.kind) {
    case 'int8':
      return reader.int8()
    case 'int16':
      return reader.int16()
    case 'int32':
      return reader.int32()
    case 'int64':
      return reader.int64()
    case 'uint16':
      return reader.uint16()
    case 'uint32':
      return reader.uint32()
    case 'float64':
      return reader.float64()
    case 'bool':
      return reader.int8() !== 0
    case 'uuid':
      return uuidFromBytes(reader.bytes, reader.skip(16))
    case 'string':
      return readString(spec, version, flexible && !spec.fixed, reader)
    case 'bytes':
      return readBytes(spec, version, flexible, reader)
    case 'records':
      return readBytes(spec, version, flexible, reader)
    case 'array':
      return readArray(spec, version, flexible, reader)
    case 'struct': {
      if (version >= spec.nullableSince && reader.int8() < (spec.tag === undefined ? 0 : 1)) return null
      return readFields(spec.fields as Fields, version, flexible, reader)
    }
  }
}

function readString(spec: FieldSpec, version: number, flexible: boolean, reader: ByteReader): string | null {
  const length = flexible ? reader.uvarint() - 1 : reader.int16()
  if (length < 0) return nullValue(spec, version)
  if (length > 0x7fff) throw new ByteError(`string of ${length} bytes`)
  return reader.utf8(length)
}

function readBytes(spec: FieldSpec, version: number, flexible: boolean, reader: ByteReader): Uint8Array | null {
  const length = flexible ? reader.uvarint() - 1 : reader.int32()
  if (length < 0) return nullValue(spec, version)
  return spec.kind === 'records' ? reader.view(length) : reader.copy(length)
}

function readArray(spec: FieldSpec, version: number, flexible: boolean, reader: ByteReader): unknown[] | null {
  const length = flexible ? reader.uvarint() - 1 : reader.int32()
  if (length < 0) return nullValue(spec, version)
  if (length > reader.remaining) throw new ByteError(`array of ${length}, ${reader.remaining} bytes left`)
  reader.elementsLeft -= length
  if (reader.elementsLeft < 0) throw new ByteError(`array of ${length}, more elements than one message may have`)
  const element = (spec.element as Field<unknown>).spec
  const values: unknown[] = []
  for (let index = 0; index < length; index++) values.push(readField(element, version, flexible, reader))
  return values
}

function nullValue(spec: FieldSpec, version: number): null {
  if (version < spec.nullableSince) throw new ByteError(`null ${spec.kind} where it may not be`)
  return null
}

/** A fresh default, so that nobody shares what somebody changes. */
function defaultOf(spec: FieldSpec, version: number): unknown {
  if (spec.default === null) return null
  if (spec.kind === 'array' && (spec.default as unknown[]).length === 0) return []
  if (spec.kind === 'struct') return defaultStruct(spec.fields as Fields, version)
  return spec.default
}

function defaultStruct(fields: Fields, version: number): Record<string, unknown> {
  const value: Record<string, unknown> = {}
  for (const [name, { spec }] of Object.entries(fields)) value[name] = defaultOf(spec, version)
  return value
}

/** How a value is written: decided once for a whole message. */
interface Layout {
  readonly version: number
  readonly flexible: boolean
  /** Refuses values that the version has no place for. */
  readonly strict: boolean
}

/**
 * Writes one struct. Fields left out have their default.
 *
 * @param strict false drops what the version has no place for. A broker says all it knows and the version decides what can be
 * told of it; a client that asks for something must not be understood to ask for something else.
 */
export function writeStruct<F extends Fields>(
  schema: Struct<F>,
  version: number,
  flexible: boolean,
  writer: ByteWriter,
  value: Encodable<Struct<F>>,
  strict = true,
): void {
  writeFields(schema.spec.fields, { version, flexible, strict }, writer, value as Record<string, unknown>)
}

function writeFields(fields: Fields, layout: Layout, writer: ByteWriter, value: Record<string, unknown>): void {
  const { version } = layout
  const plan = planOf(fields, version)
  if (layout.strict) refuseAbsent(plan, version, value)
  for (const { name, spec } of plan.plain) {
    const given = value[name]
    writeField(name, spec, layout, writer, given === undefined ? defaultOf(spec, version) : given)
  }
  if (layout.flexible) writeTags(plan, layout, writer, value)
}

function refuseAbsent(plan: Plan, version: number, value: Record<string, unknown>): void {
  for (const { name, spec } of plan.absent) {
    if (!spec.ignorable && !isDefault(spec, value[name])) {
      throw new EncodeError(`${name} cannot be told in version ${version}`)
    }
  }
}

function writeTags(plan: Plan, layout: Layout, writer: ByteWriter, value: Record<string, unknown>): void {
  let count = 0
  for (const { name, spec } of plan.tagged) if (!isDefault(spec, value[name])) count++
  writer.uvarint(count)
  if (count === 0) return
  for (const { name, spec } of plan.tagged) {
    if (isDefault(spec, value[name])) continue
    const body = new ByteWriter()
    writeField(name, spec, layout, body, value[name])
    writer.uvarint(spec.tag as number)
    writer.uvarint(body.length)
    for (const part of body.parts()) writer.bytes(part)
  }
}

function writeField(name: string, spec: FieldSpec, layout: Layout, writer: ByteWriter, value: unknown): void {
  const { version, flexible } = layout
  if (value === null && version < spec.nullableSince) {
    throw new EncodeError(`${name} may not be null in version ${version}`)
  }
  switch (spec.kind) {
    case 'int8':
      return writer.int8(integer(name, value, -0x80, 0x7f))
    case 'int16':
      return writer.int16(integer(name, value, -0x8000, 0x7fff))
    case 'uint16':
      return writer.int16(integer(name, value, 0, 0xffff))
    case 'int32':
      return writer.int32(integer(name, value, -0x80000000, 0x7fffffff))
    case 'uint32':
      return writer.int32(integer(name, value, 0, 0xffffffff))
    case 'int64':
      return writer.int64(integer(name, value, -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER))
    case 'float64':
      return writer.float64(value as number)
    case 'bool':
      return writer.int8(value === true ? 1 : 0)
    case 'uuid':
      return writeUuid(name, value as string, writer)
    case 'string':
      return writeString(name, value as string | null, flexible && !spec.fixed, writer)
    case 'bytes':
      return writeBytes(value as Uint8Array | null, flexible, writer)
    case 'records':
      return writeRecords(value as Uint8Array | readonly Uint8Array[] | null, flexible, writer)
    case 'array':
      return writeArray(name, spec, layout, writer, value as unknown[] | null)
    case 'struct': {
      if (version >= spec.nullableSince) writer.int8(value !== null ? 1 : spec.tag === undefined ? -1 : 0)
      if (value !== null) {
        writeFields(spec.fields as Fields, layout, writer, value as Record<string, unknown>)
      }
    }
  }
}

function integer(name: string, value: unknown, min: number, max: number): number {
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max) {
    throw new EncodeError(`${name} is out of range: ${value}`)
  }
  return value as number
}

function writeUuid(name: string, value: string, writer: ByteWriter): void {
  let bytes: Uint8Array
  try {
    bytes = uuidToBytes(value)
  } catch {
    throw new EncodeError(`${name} is not a uuid: ${value}`)
  }
  writer.bytes(bytes)
}

function writeString(name: string, value: string | null, flexible: boolean, writer: ByteWriter): void {
  if (value === null) return flexible ? writer.uvarint(0) : writer.int16(-1)
  const length = utf8Length(value)
  if (length > 0x7fff) throw new EncodeError(`${name} is too long: ${length} bytes, at most 32767`)
  if (flexible) writer.uvarint(length + 1)
  else writer.int16(length)
  writer.utf8(value, length)
}

function writeLength(length: number, flexible: boolean, writer: ByteWriter): void {
  if (flexible) writer.uvarint(length + 1)
  else writer.int32(length)
}

function writeBytes(value: Uint8Array | null, flexible: boolean, writer: ByteWriter): void {
  writeLength(value === null ? -1 : value.length, flexible, writer)
  if (value !== null) writer.bytes(value)
}

function writeRecords(value: Uint8Array | readonly Uint8Array[] | null, flexible: boolean, writer: ByteWriter): void {
  if (value === null) return writeLength(-1, flexible, writer)
  const parts = value instanceof Uint8Array ? [value] : value
  let length = 0
  for (const part of parts) length += part.length
  writeLength(length, flexible, writer)
  for (const part of parts) writer.part(part)
}

function writeArray(
  name: string,
  spec: FieldSpec,
  layout: Layout,
  writer: ByteWriter,
  value: readonly unknown[] | null,
): void {
  writeLength(value === null ? -1 : value.length, layout.flexible, writer)
  if (value === null) return
  const element = (spec.element as Field<unknown>).spec
  for (const item of value) writeField(name, element, layout, writer, item)
}

function isDefault(spec: FieldSpec, value: unknown): boolean {
  if (value === undefined || value === spec.default) return true
  if (value === null || spec.default === null) return false
  switch (spec.kind) {
    case 'array':
      return (value as unknown[]).length === 0 && (spec.default as unknown[]).length === 0
    case 'bytes':
      return (value as Uint8Array).length === 0 && (spec.default as Uint8Array).length === 0
    case 'records':
      return (value as Uint8Array).length === 0
    case 'struct': {
      const members = value as Record<string, unknown>
      return Object.entries(spec.fields as Fields).every(([name, member]) => isDefault(member.spec, members[name]))
    }
    default:
      return false
  }
}

/** True when `version` of what `definition` describes has tag buffers and compact lengths. */
export function isFlexible(definition: { readonly flexible: number | undefined }, version: number): boolean {
  return definition.flexible !== undefined && version >= definition.flexible
}

/** Decodes the body of a message; bytes left over are ignored, as Kafka does. */
export function decodeMessage<F extends Fields>(
  definition: Message<F>,
  version: number,
  reader: ByteReader,
): Decoded<Struct<F>> {
  return readStruct(definition.body, version, isFlexible(definition, version), reader)
}

export function encodeMessage<F extends Fields>(
  definition: Message<F>,
  version: number,
  value: Encodable<Struct<F>>,
): Uint8Array {
  const writer = new ByteWriter()
  writeStruct(definition.body, version, isFlexible(definition, version), writer, value)
  return writer.finish()
}

/** Encodes a message behind its version as int16: coordinator records and consumer protocol blobs. */
export function encodeVersioned<F extends Fields>(
  definition: Message<F>,
  version: number,
  value: Encodable<Struct<F>>,
): Uint8Array {
  const writer = new ByteWriter()
  writer.int16(version)
  writeStruct(definition.body, version, isFlexible(definition, version), writer, value)
  return writer.finish()
}

/**
 * Decodes what {@link encodeVersioned} wrote. A version above what is known is read with the newest known layout,
 * since such messages only ever grow at their end.
 */
export function decodeVersioned<F extends Fields>(definition: Message<F>, bytes: Uint8Array): Decoded<Struct<F>> {
  const reader = new ByteReader(bytes)
  const version = reader.int16()
  const [min, max] = definition.versions
  if (version < min) throw new ByteError(`${definition.name} version ${version}`)
  return decodeMessage(definition, Math.min(version, max), reader)
}
