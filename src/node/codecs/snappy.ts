/**
 * Snappy by the native package `snappy`. Java clients and librdkafka put blocks into the framing of snappy-java ("xerial"):
 * a 16-byte header, then blocks with their length before them. Others send one raw block. Both are read; the framing is
 * written, in blocks of 32 kB, as Java does. This is not the official framing format, which Kafka does not use.
 */

import type * as Snappy from 'snappy'
import { type Codec, lazily, tooLarge } from './codec.ts'

const snappyPackage = lazily<typeof Snappy>('snappy')

/** Magic, then version 1 and "readable from version 1 on". */
const XERIAL_HEADER = Uint8Array.of(0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1)
const XERIAL_MAGIC_LENGTH = 8
const BLOCK_LENGTH = 32 * 1024

export const snappy: Codec = {
  compress(bytes) {
    const { compressSync } = snappyPackage()
    const parts: Uint8Array[] = [XERIAL_HEADER]
    for (let at = 0; at < bytes.length; at += BLOCK_LENGTH) {
      const block = compressSync(bytes.subarray(at, at + BLOCK_LENGTH))
      const length = Buffer.alloc(4)
      length.writeInt32BE(block.length)
      parts.push(length, block)
    }
    return Buffer.concat(parts)
  },

  decompress(bytes, limit) {
    if (!hasXerialMagic(bytes, 0)) return uncompress(bytes, limit, limit)
    const blocks: Uint8Array[] = []
    let left = limit
    let at = XERIAL_HEADER.length
    // Less than a length at the end is ignored, as Java's SnappyInputStream does.
    while (bytes.length - at >= 4) {
      if (hasXerialMagic(bytes, at)) {
        at += XERIAL_HEADER.length
        continue
      }
      const length = (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]
      at += 4
      if (length < 0 || length > bytes.length - at) throw new Error(`snappy block of ${length} bytes is cut off`)
      const block = uncompress(bytes.subarray(at, at + length), left, limit)
      blocks.push(block)
      left -= block.length
      at += length
    }
    return Buffer.concat(blocks)
  },
}

function hasXerialMagic(bytes: Uint8Array, at: number): boolean {
  if (bytes.length - at < XERIAL_HEADER.length) return false
  for (let index = 0; index < XERIAL_MAGIC_LENGTH; index++) {
    if (bytes[at + index] !== XERIAL_HEADER[index]) return false
  }
  return true
}

/** One raw block. It begins with the length of its content, so the limit is checked before anything is allocated. */
function uncompress(block: Uint8Array, left: number, limit: number): Uint8Array {
  let length = 0
  for (let at = 0, factor = 1; at < 5; at++, factor *= 128) {
    if (at === block.length) throw new Error('snappy block without a length')
    length += (block[at] & 0x7f) * factor
    if (block[at] < 0x80) break
  }
  if (length > left) throw tooLarge(limit)
  return snappyPackage().uncompressSync(block, { asBuffer: true }) as Buffer
}
