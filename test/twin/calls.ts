import { apiVersions } from '../../src/protocol/apis/api-versions.ts'
import { isFlexible, readStruct, writeStruct } from '../../src/protocol/codec.ts'
import type { Api } from '../../src/protocol/dsl.ts'
import { ByteReader } from '../../src/util/byte-reader.ts'
import { ByteWriter } from '../../src/util/byte-writer.ts'
import { Failed } from './names.ts'
import type { Line, World } from './world.ts'

/** Requests on their way over one connection, and the answers to them, which come in their order. */

/** A connection of a scenario. */
export interface Conversation {
  readonly line: Line
  readonly clientId: string | null
  readonly inFlight: Call[]
  correlationId: number
}

/** A request that was sent. */
export interface Call {
  readonly conversation: Conversation
  /** Undefined for an API that was sent by its number. */
  readonly api: Api | undefined
  readonly version: number
  readonly correlationId: number
  /** The frame without its length, once it is there. */
  answer: Uint8Array | undefined
  closed: boolean
}

const UNSUPPORTED_VERSION = 35

/** Waits until the answer is here or the connection has ended; false when neither came within `ms`. */
export async function answered(call: Call, ms: number, world: World): Promise<boolean> {
  const { line, inFlight } = call.conversation
  const until = world.now() + ms
  while (call.answer === undefined && !call.closed) {
    const left = until - world.now()
    if (left <= 0) return false
    const frame = await line.read(left)
    if (frame === undefined) continue
    if (frame === 'closed') {
      for (const each of inFlight.splice(0)) each.closed = true
      call.closed = true
      return true
    }
    const first = inFlight.shift()
    if (first === undefined) throw new Failed('an answer nobody asked for')
    const correlationId = new ByteReader(frame).int32()
    if (correlationId !== first.correlationId) {
      throw new Failed(`correlation id ${correlationId}, expected ${first.correlationId}`)
    }
    first.answer = frame
  }
  return true
}

/** Header and body as a frame, its length in front. */
export function frameOf(header: HeaderOptions, body: Uint8Array): Uint8Array {
  const { api, apiKey, version, correlationId, clientId } = header
  const writer = new ByteWriter()
  writer.int16(apiKey)
  writer.int16(version)
  writer.int32(correlationId)
  const id = clientId === null ? undefined : Buffer.from(clientId)
  writer.int16(id?.length ?? -1)
  if (id !== undefined) writer.bytes(id)
  if (api !== undefined && isFlexible(api, version)) writer.int8(0)
  writer.bytes(body)
  return framed(writer.finish())
}

export interface HeaderOptions {
  api: Api | undefined
  apiKey: number
  version: number
  correlationId: number
  clientId: string | null
}

export function framed(bytes: Uint8Array): Uint8Array {
  const frame = Buffer.alloc(4 + bytes.length)
  frame.writeInt32BE(bytes.length)
  frame.set(bytes, 4)
  return Uint8Array.from(frame)
}

export function encodeBody(api: Api, version: number, value: Record<string, unknown>): Uint8Array {
  const writer = new ByteWriter()
  writeStruct(api.request, version, isFlexible(api, version), writer, value)
  return writer.finish()
}

/** The body of an answer, and the version it is laid out in. Nothing may be left over. */
export function decodeAnswer(call: Call): { version: number; body: object } {
  const { api, answer } = call
  if (api === undefined || answer === undefined) throw new Failed('an answer to an API that has no name')
  const reader = new ByteReader(answer)
  reader.int32()
  let { version } = call
  if (api.key === apiVersions.key) {
    // The answer to a version that the broker does not know has the layout of version 0.
    if (answer.length >= 6 && new ByteReader(answer, 4).int16() === UNSUPPORTED_VERSION) version = 0
  } else if (isFlexible(api, version) && reader.int8() !== 0) throw new Failed('tags in the response header')
  const body = readStruct(api.response, version, isFlexible(api, version), reader)
  if (reader.remaining > 0) throw new Failed(`${reader.remaining} bytes left over after the answer`)
  return { version, body }
}
