/**
 * gzip (RFC 1952) by Node's zlib. There may be several members, one behind the other. What stands behind the last and does
 * not begin like a member is ignored, as Java's `GZIPInputStream` does and Node does not: hence the second way below.
 */

import { constants, crc32, deflateRawSync, gunzipSync, gzipSync, inflateRawSync } from 'node:zlib'
import { concat } from '../../util/byte-writer.ts'
import { asBuffer, type Codec, tooLarge } from './codec.ts'

export const gzip: Codec = {
  compress: bytes => gzipSync(bytes),

  decompress(bytes, limit) {
    try {
      return gunzipSync(bytes, { maxOutputLength: Math.max(limit, 1) })
    } catch (error) {
      if (isTooLarge(error)) throw tooLarge(limit)
      return gunzipMembers(bytes, limit)
    }
  },
}

/** So many bytes take about a millisecond. */
export const GZIP_STEP = 64 * 1024
/** How far back deflate looks. */
const WINDOW = 32 * 1024
/** No name, no time, from an unknown system. */
const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff)

/**
 * The same as one member, a step at a time: each is flushed to a whole byte, and the next begins with what the last would still know.
 * Yields how many bytes went in.
 */
export function* gzipInSteps(bytes: Uint8Array): Generator<number, Uint8Array, void> {
  const parts: Uint8Array[] = [HEADER]
  let checksum = 0
  for (let start = 0; start < bytes.length; start += GZIP_STEP) {
    const step = bytes.subarray(start, start + GZIP_STEP)
    const isLast = start + GZIP_STEP >= bytes.length
    const dictionary = start === 0 ? undefined : bytes.subarray(start - WINDOW, start)
    const finishFlush = isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH
    parts.push(deflateRawSync(step, { finishFlush, dictionary }))
    checksum = crc32(step, checksum)
    yield step.length
  }
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(checksum, 0)
  trailer.writeUInt32LE(bytes.length % 2 ** 32, 4)
  return concat([...parts, trailer])
}

function isTooLarge(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE'
}

/** Member by member, so that we see where the last one ends. */
function gunzipMembers(bytes: Uint8Array, limit: number): Uint8Array {
  const members: Uint8Array[] = []
  let left = limit
  let at = 0
  for (let start = deflateStart(bytes, at); start > 0; start = deflateStart(bytes, at)) {
    const member = inflate(bytes.subarray(start), left, limit)
    // A read beyond the end throws a RangeError: the member is cut off.
    const trailer = asBuffer(bytes.subarray(start + member.taken))
    const { content } = member
    if (trailer.readUInt32LE(0) !== crc32(content)) throw new Error('gzip checksum is wrong')
    if (trailer.readUInt32LE(4) !== content.length % 2 ** 32) throw new Error('gzip length is wrong')
    members.push(content)
    left -= content.length
    at = start + member.taken + 8
  }
  if (members.length === 0) throw new Error('not in gzip format')
  return Buffer.concat(members)
}

function inflate(bytes: Uint8Array, left: number, limit: number): { content: Uint8Array; taken: number } {
  try {
    // The types do not know that `info` changes what is returned.
    const result = inflateRawSync(bytes, { maxOutputLength: Math.max(left, 1), info: true }) as unknown
    const { buffer, engine } = result as { buffer: Buffer; engine: { bytesWritten: number } }
    if (buffer.length > left) throw tooLarge(limit)
    return { content: buffer, taken: engine.bytesWritten }
  } catch (error) {
    throw isTooLarge(error) ? tooLarge(limit) : error
  }
}

const HAS_HEADER_CHECKSUM = 0x02
const HAS_EXTRA = 0x04
const HAS_NAME = 0x08
const HAS_COMMENT = 0x10

/** Where the deflate stream of the member at `at` begins; −1 if there is no member. */
function deflateStart(bytes: Uint8Array, at: number): number {
  if (bytes.length - at < 18 || bytes[at] !== 0x1f || bytes[at + 1] !== 0x8b || bytes[at + 2] !== 8) return -1
  const flags = bytes[at + 3]
  let start = at + 10
  if (flags & HAS_EXTRA) start += 2 + bytes[start] + 256 * bytes[start + 1]
  if (flags & HAS_NAME) start = bytes.indexOf(0, start) + 1
  if (flags & HAS_COMMENT) start = bytes.indexOf(0, start) + 1
  if (flags & HAS_HEADER_CHECKSUM) start += 2
  return start <= at || start >= bytes.length ? -1 : start
}
