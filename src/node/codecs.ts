/**
 * The codecs of record batches on Node: gzip and, where Node has it, zstd from `node:zlib`, the others from packages
 * (docs/dependencies.md). All are synchronous, each is loaded when it is first used, and all stop at a limit of
 * decompressed bytes: a small batch must not be able to fill the memory.
 */

import { type CodecName, type Compression, CompressionError } from '../records/compression.ts'
import { type Codec, messageOf, tooLarge } from './codecs/codec.ts'
import { GZIP_STEP, gzip, gzipInSteps } from './codecs/gzip.ts'
import { lz4 } from './codecs/lz4.ts'
import { snappy } from './codecs/snappy.ts'
import { zstd } from './codecs/zstd.ts'

const CODECS: Partial<Record<CodecName, Codec>> = { gzip, snappy, lz4, zstd }

function codecOf(name: CodecName): Codec {
  const codec = CODECS[name]
  if (codec === undefined) throw new CompressionError(`${name} is no codec`)
  return codec
}

/** Every codec that Kafka knows. */
export const nodeCompression: Compression = {
  compress: (name, bytes) => asPlain(codecOf(name).compress(bytes)),

  compressInSteps: (name, bytes) => (name === 'gzip' && bytes.length > GZIP_STEP ? gzipInSteps(bytes) : undefined),

  decompress(name, bytes, limit) {
    const codec = codecOf(name)
    let content: Uint8Array
    try {
      content = codec.decompress(bytes, limit)
    } catch (error) {
      if (error instanceof CompressionError) throw error
      throw new CompressionError(`broken ${name}: ${messageOf(error)}`)
    }
    if (content.length > limit) throw tooLarge(limit)
    return asPlain(content)
  },
}

/** Not a `Buffer`, whose `slice` is a view: the pure part counts on `Uint8Array`. */
function asPlain(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}
