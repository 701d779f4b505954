/**
 * LZ4 frames by the native package `lz4-napi`. It takes a frame that breaks off for a whole one, and knows no limit, so the
 * frame's structure is walked here first (LZ4 frame format 1.6): where it ends, and how much comes out at most. Bytes
 * behind the frame are ignored, as Kafka's `Lz4BlockInputStream` does.
 */

import type * as Lz4 from 'lz4-napi'
import { asBuffer, type Codec, lazily, tooLarge } from './codec.ts'

const lz4Package = lazily<typeof Lz4>('lz4-napi')

export const lz4: Codec = {
  compress: bytes => lz4Package().compressFrameSync(asBuffer(bytes)),

  decompress(bytes, limit) {
    const frame = walkFrame(asBuffer(bytes))
    // The bound is far off for small blocks of little repetition: only then the exact size is worth its time.
    if (frame.bound > limit && exactSize(bytes, frame.blocks, limit) > limit) throw tooLarge(limit)
    return lz4Package().decompressFrameSync(asBuffer(bytes.subarray(0, frame.end)))
  },
}

interface Block {
  start: number
  end: number
  isCompressed: boolean
}

const MAGIC = 0x184d2204
const HAS_DICTIONARY = 0x01
const HAS_CONTENT_CHECKSUM = 0x04
const HAS_CONTENT_SIZE = 0x08
const HAS_BLOCK_CHECKSUMS = 0x10
const UNCOMPRESSED_BIT = 0x80000000
/** No byte of a compressed block makes more than this many. */
const MOST_PER_BYTE = 255

/** Any read beyond the end throws a RangeError: the frame is cut off. */
function walkFrame(bytes: Buffer): { end: number; bound: number; blocks: Block[] } {
  if (bytes.readUInt32LE(0) !== MAGIC) throw new Error('not an LZ4 frame')
  const flags = bytes.readUInt8(4)
  if (flags >> 6 !== 1) throw new Error(`LZ4 frame version ${flags >> 6} is not supported`)
  const largest = 2 ** (8 + 2 * ((bytes.readUInt8(5) >> 4) & 7))
  let at = 7 + (flags & HAS_CONTENT_SIZE ? 8 : 0) + (flags & HAS_DICTIONARY ? 4 : 0)
  const blocks: Block[] = []
  let bound = 0
  for (let word = bytes.readUInt32LE(at); word !== 0; word = bytes.readUInt32LE(at)) {
    const isCompressed = word < UNCOMPRESSED_BIT
    const length = isCompressed ? word : word - UNCOMPRESSED_BIT
    const start = at + 4
    const end = start + length
    blocks.push({ start, end, isCompressed })
    bound += isCompressed ? Math.min(largest, length * MOST_PER_BYTE) : length
    at = end + (flags & HAS_BLOCK_CHECKSUMS ? 4 : 0)
  }
  const end = at + 4 + (flags & HAS_CONTENT_CHECKSUM ? 4 : 0)
  if (end > bytes.length) throw new Error('LZ4 frame is cut off')
  return { end, bound, blocks }
}

/** How many bytes come out, found by following the tokens without copying anything; stops beyond `limit`. */
function exactSize(bytes: Uint8Array, blocks: readonly Block[], limit: number): number {
  let size = 0
  for (const { start, end, isCompressed } of blocks) {
    if (size > limit) break
    size += isCompressed ? blockSize(bytes, start, end) : end - start
  }
  return size
}

/** The lengths of a block's literals and matches (LZ4 block format): 4 bits each, and more bytes while they are 255. */
function blockSize(bytes: Uint8Array, start: number, end: number): number {
  let size = 0
  let at = start
  const longer = (length: number): number => {
    if (length < 15) return length
    for (let more = 255; more === 255 && at < end; length += more) more = bytes[at++]
    return length
  }
  while (at < end) {
    const token = bytes[at++]
    const literals = longer(token >> 4)
    at += literals
    size += literals
    // The last sequence has no match.
    if (at >= end) break
    at += 2
    size += longer(token & 0x0f) + 4
  }
  return size
}
