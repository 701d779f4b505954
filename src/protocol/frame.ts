import { ByteReader } from '../util/byte-reader.ts'
import { ByteWriter } from '../util/byte-writer.ts'
import { isFlexible, readStruct, writeStruct } from './codec.ts'
import type { Api, Decoded, Encodable, Fields, Struct } from './dsl.ts'
import {
  type RequestHeader,
  readRequestHeader,
  readResponseHeader,
  writeRequestHeader,
  writeResponseHeader,
} from './header.ts'

/**
 * Whole frames. Those to send have their length in front, and are lists of parts, since record batches are put in as
 * they lie in the log. Cutting received bytes into frames is the work of whoever owns the receive buffer; what is
 * decoded here has no length in front any more.
 */

/** The parts of a response, the four bytes of its length first. What the version has no place for is dropped. */
export function encodeResponse<Request extends Fields, Response extends Fields>(
  api: Api<Request, Response>,
  version: number,
  correlationId: number,
  body: Encodable<Struct<Response>>,
): Uint8Array[] {
  return frame(writer => {
    writeResponseHeader(api as Api, version, correlationId, writer)
    writeStruct(api.response, version, isFlexible(api, version), writer, body, false)
  })
}

/** The parts of a request, the four bytes of its length first. */
export function encodeRequest<Request extends Fields, Response extends Fields>(
  api: Api<Request, Response>,
  header: RequestHeader,
  body: Encodable<Struct<Request>>,
): Uint8Array[] {
  return frame(writer => {
    writeRequestHeader(api as Api, header, writer)
    writeStruct(api.request, header.apiVersion, isFlexible(api, header.apiVersion), writer, body)
  })
}

/**
 * Decodes a request whose first four bytes name `api` and `version`.
 *
 * @throws ByteError when the bytes are not one.
 */
export function decodeRequest<Request extends Fields, Response extends Fields>(
  api: Api<Request, Response>,
  version: number,
  bytes: Uint8Array,
): { header: RequestHeader; body: Decoded<Struct<Request>> } {
  const reader = new ByteReader(bytes)
  const header = readRequestHeader(api as Api, version, reader)
  return { header, body: readStruct(api.request, version, isFlexible(api, version), reader) }
}

/**
 * Decodes the response to a request of `version`.
 *
 * @throws ByteError when the bytes are not one.
 */
export function decodeResponse<Request extends Fields, Response extends Fields>(
  api: Api<Request, Response>,
  version: number,
  bytes: Uint8Array,
): { correlationId: number; body: Decoded<Struct<Response>> } {
  const reader = new ByteReader(bytes)
  const { correlationId } = readResponseHeader(api as Api, version, reader)
  return { correlationId, body: readStruct(api.response, version, isFlexible(api, version), reader) }
}

function frame(write: (writer: ByteWriter) => void): Uint8Array[] {
  const writer = new ByteWriter()
  writer.int32(0)
  write(writer)
  const length = writer.length - 4
  const parts = writer.parts()
  const first = parts[0]
  first[0] = length >>> 24
  first[1] = length >>> 16
  first[2] = length >>> 8
  first[3] = length
  return parts
}
