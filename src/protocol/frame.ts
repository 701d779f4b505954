import { ByteWriter } from '../util/byte-writer.ts'
import { isFlexible, writeStruct } from './codec.ts'
import type { Api, Encodable, Fields, Struct } from './dsl.ts'
import { type RequestHeader, writeRequestHeader, writeResponseHeader } from './header.ts'

/**
 * Whole frames to send: the length in front, header, body. They are lists of parts, since record batches are put in
 * as they lie in the log. Cutting received bytes into frames is the work of whoever owns the receive buffer.
 */

/** The parts of a response, the four bytes of its length first. */
export function encodeResponse<Request extends Fields, Response extends Fields>(
  api: Api<Request, Response>,
  version: number,
  correlationId: number,
  body: Encodable<Struct<Response>>,
): Uint8Array[] {
  return frame(writer => {
    writeResponseHeader(api as Api, version, correlationId, writer)
    writeStruct(api.response, version, isFlexible(api, version), writer, body)
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
