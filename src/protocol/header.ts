import type { ByteReader } from '../util/byte-reader.ts'
import type { ByteWriter } from '../util/byte-writer.ts'
import { isFlexible, readStruct, writeStruct } from './codec.ts'
import { type Api, type Decoded, int16, int32, string, struct } from './dsl.ts'

/**
 * Request and response headers. The version of the header follows from the version of the body (KIP-482), but the
 * answer to ApiVersions always has the oldest one, since who asks does not know yet what the broker speaks (KIP-511).
 */

export const requestHeader = struct({
  apiKey: int16(),
  apiVersion: int16(),
  correlationId: int32(),
  clientId: string().nullable().fixed(),
})

export const responseHeader = struct({ correlationId: int32() })

export type RequestHeader = Decoded<typeof requestHeader>

const API_VERSIONS_KEY = 18

/** Reads the header of a request whose first four bytes name `api` and its version. */
export function readRequestHeader(api: Api, version: number, reader: ByteReader): RequestHeader {
  const flexible = isFlexible(api, version)
  return readStruct(requestHeader, flexible ? 2 : 1, flexible, reader)
}

export function writeRequestHeader(api: Api, header: RequestHeader, writer: ByteWriter): void {
  const flexible = isFlexible(api, header.apiVersion)
  writeStruct(requestHeader, flexible ? 2 : 1, flexible, writer, header)
}

export function readResponseHeader(api: Api, version: number, reader: ByteReader): Decoded<typeof responseHeader> {
  const flexible = api.key !== API_VERSIONS_KEY && isFlexible(api, version)
  return readStruct(responseHeader, flexible ? 1 : 0, flexible, reader)
}

export function writeResponseHeader(api: Api, version: number, correlationId: number, writer: ByteWriter): void {
  const flexible = api.key !== API_VERSIONS_KEY && isFlexible(api, version)
  writeStruct(responseHeader, flexible ? 1 : 0, flexible, writer, { correlationId })
}
