/**
 * The port for compression codecs and the table of their names and numbers. Codecs themselves are injected, because they
 * are native code, WASM or Node's zlib; the pure part only knows that they turn bytes into bytes, at once. Numbers and
 * names are Kafka's (`CompressionType`).
 */

import { type Crc32c, crc32cJs } from './crc32c.ts'
import { RecordsError } from './records-error.ts'

/** The names of all codecs; the index is the number in the batch's attributes. */
export const CODEC_NAMES = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const

export type CodecName = (typeof CODEC_NAMES)[number]

/** The name for a codec number, or undefined for 5 to 7, which nobody has given a meaning. */
export function codecName(codec: number): CodecName | undefined {
  return CODEC_NAMES[codec]
}

/** The number that stands for a codec in a batch's attributes. */
export function codecNumber(name: CodecName): number {
  return CODEC_NAMES.indexOf(name)
}

/** Compressed bytes are broken, give more than the limit, or their codec is not there. Kafka answers UNKNOWN_SERVER_ERROR. */
export class CompressionError extends RecordsError {
  override readonly name = 'CompressionError'

  constructor(message: string) {
    super('UNKNOWN_SERVER_ERROR', message)
  }
}

/** Compresses and decompresses the records of one batch, synchronously. Never called with `none`. */
export interface Compression {
  /** @throws {CompressionError} when the codec is not there. */
  compress(codec: CodecName, bytes: Uint8Array): Uint8Array

  /**
   * @param limit how many bytes may come out at most
   * @throws {CompressionError} when `bytes` are broken, or when more than `limit` bytes would come out
   */
  decompress(codec: CodecName, bytes: Uint8Array, limit: number): Uint8Array

  /**
   * As {@link compress}, for bytes that take long, in steps between which others may have their turn: yields how many went in since
   * the last. Undefined for what is quick.
   */
  compressInSteps?(codec: CodecName, bytes: Uint8Array): Generator<number, Uint8Array, void> | undefined
}

function noCodec(codec: CodecName): never {
  throw new CompressionError(`no ${codec} codec on this platform`)
}

/** Knows no codec and refuses them all. */
export const NO_COMPRESSION: Compression = { compress: noCodec, decompress: noCodec }

/** What record batches need from outside. */
export interface RecordsPlatform {
  readonly crc32c: Crc32c
  readonly compression: Compression
}

/** Plain JavaScript: enough for uncompressed batches anywhere. */
export const PURE_PLATFORM: RecordsPlatform = { crc32c: crc32cJs, compression: NO_COMPRESSION }
