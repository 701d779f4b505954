/**
 * Zstandard (RFC 8878): by Node's zlib where it has it (22.15 and later), else by `fzstd`, plain JavaScript, for reading
 * and the native `@toondepauw/node-zstd` for writing. Node takes a frame that breaks off for a whole one and ignores what
 * stands behind; Kafka refuses both, so the frames are walked here first and decompressed one by one.
 */

import * as zlib from 'node:zlib'
import type * as Native from '@toondepauw/node-zstd'
import type * as Fzstd from 'fzstd'
import { asBuffer, type Codec, lazily, tooLarge } from './codec.ts'

/** What newer versions of Node have, and the types of the oldest that we support do not know. */
interface NodeZstd {
  zstdCompressSync?: (bytes: Uint8Array) => Buffer
  zstdDecompressSync?: (bytes: Uint8Array, options: { maxOutputLength: number }) => Buffer
}

const nodeZstd = zlib as NodeZstd
const nativePackage = lazily<typeof Native>('@toondepauw/node-zstd')
const fzstdPackage = lazily<typeof Fzstd>('fzstd')

/** Kafka's default, and zstd's own. */
const LEVEL = 3

export const zstd: Codec = {
  compress: bytes => (nodeZstd.zstdCompressSync ?? compressNative)(bytes),
  decompress: (bytes, limit) =>
    decompressFrames(bytes, limit, nodeZstd.zstdDecompressSync ? decompressNode : decompressJs),
}

/** The codec as it is where Node has no zstd of its own; for tests on newer versions. */
export const zstdWithoutNode: Codec = {
  compress: compressNative,
  decompress: (bytes, limit) => decompressFrames(bytes, limit, decompressJs),
}

function compressNative(bytes: Uint8Array): Uint8Array {
  return new (nativePackage().Encoder)(LEVEL).encodeSync(asBuffer(bytes))
}

interface Frame {
  bytes: Uint8Array
  /** How many bytes come out at most. */
  bound: number
  /** How far back the frame may point, if it says so: else as far as its content goes. */
  window: number | undefined
}

/** Gives undefined when more than `left` bytes come out. */
type DecompressFrame = (frame: Frame, left: number) => Uint8Array | undefined

function decompressFrames(bytes: Uint8Array, limit: number, decompress: DecompressFrame): Uint8Array {
  const contents: Uint8Array[] = []
  let left = limit
  for (const frame of splitFrames(asBuffer(bytes))) {
    const content = decompress(frame, left)
    if (content === undefined || content.length > left) throw tooLarge(limit)
    contents.push(content)
    left -= content.length
  }
  return contents.length === 1 ? contents[0] : Buffer.concat(contents)
}

function decompressNode({ bytes }: Frame, left: number): Uint8Array | undefined {
  try {
    return nodeZstd.zstdDecompressSync!(bytes, { maxOutputLength: Math.max(left, 1) })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') return undefined
    throw error
  }
}

/** Stops as soon as it sees that more than `left` bytes come out, 128 kB beyond at most. */
function decompressJs(frame: Frame, left: number): Uint8Array | undefined {
  const { Decompress } = fzstdPackage()
  const full = Symbol('full')
  const chunks: Uint8Array[] = []
  let size = 0
  const stream = new Decompress(chunk => {
    chunks.push(chunk)
    size += chunk.length
    if (size > left) throw full
  })
  try {
    stream.push(withSmallWindow(frame), true)
  } catch (error) {
    if (error === full) return undefined
    throw error
  }
  return Buffer.concat(chunks)
}

/**
 * The frame with a window no larger than its content can be. Writers ask for 2 MB whatever they write, and `fzstd`
 * allocates and moves all of it for every block.
 */
function withSmallWindow({ bytes, bound, window }: Frame): Uint8Array {
  const exponent = Math.max(10, Math.ceil(Math.log2(bound)))
  if (window === undefined || window <= 2 ** exponent) return bytes
  const copy = Uint8Array.from(bytes)
  copy[5] = (exponent - 10) << 3
  return copy
}

const MAGIC = 0xfd2fb528
const SKIPPABLE_MAGIC = 0x184d2a50
const HAS_CHECKSUM = 0x04
const IS_SINGLE_SEGMENT = 0x20
const RLE_BLOCK = 1
const COMPRESSED_BLOCK = 2
const LARGEST_BLOCK = 128 * 1024
/** What zstd itself refuses unless it is told otherwise: a decoder may have to allocate as much as the frame asks for. */
const LARGEST_WINDOW = 2 ** 27

/** The frames that have content. Throws unless `bytes` are whole frames from begin to end. */
function splitFrames(bytes: Buffer): Frame[] {
  const frames: Frame[] = []
  for (let at = 0; at < bytes.length; ) {
    const start = at
    const magic = bytes.readUInt32LE(start)
    if ((magic & ~0x0f) === SKIPPABLE_MAGIC) {
      at = start + 8 + bytes.readUInt32LE(start + 4)
    } else {
      if (magic !== MAGIC) throw new Error('not a zstd frame')
      const { end, bound, window } = walkFrame(bytes, start)
      frames.push({ bytes: bytes.subarray(start, end), bound, window })
      at = end
    }
    if (at > bytes.length) throw new Error('zstd frame is cut off')
  }
  return frames
}

/** Any read beyond the end throws a RangeError: the frame is cut off. */
function walkFrame(bytes: Buffer, start: number): { end: number; bound: number; window: number | undefined } {
  const descriptor = bytes.readUInt8(start + 4)
  const isSingleSegment = (descriptor & IS_SINGLE_SEGMENT) !== 0
  let at = start + 5
  let window: number | undefined
  if (!isSingleSegment) {
    const code = bytes.readUInt8(at++)
    window = 2 ** (10 + (code >> 3)) * (1 + (code & 7) / 8)
    if (window > LARGEST_WINDOW) throw new Error('zstd window is too large')
  }
  at += [0, 1, 2, 4][descriptor & 3]
  at += [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6]
  let bound = 0
  for (let isLast = false; !isLast; ) {
    const block = bytes.readUIntLE(at, 3)
    const type = (block >> 1) & 3
    const size = block >> 3
    isLast = (block & 1) === 1
    bound += type === COMPRESSED_BLOCK ? LARGEST_BLOCK : size
    at += 3 + (type === RLE_BLOCK ? 1 : size)
  }
  return { end: at + (descriptor & HAS_CHECKSUM ? 4 : 0), bound, window }
}
