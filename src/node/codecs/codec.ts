/**
 * What one codec is to the registry in `../codecs.ts`, and how codecs reach the packages they stand on: with `require`, at
 * the first use, because loading all of them would double the time a broker takes to start and most brokers meet one codec
 * or none.
 */

import { createRequire } from 'node:module'
import { CompressionError } from '../../records/compression.ts'

/** One codec. `decompress` may throw anything on broken bytes; the registry makes a `CompressionError` of it. */
export interface Codec {
  compress(bytes: Uint8Array): Uint8Array
  /** Throws when more than `limit` bytes come out. */
  decompress(bytes: Uint8Array, limit: number): Uint8Array
}

const require = createRequire(import.meta.url)

/** Loads a package when the returned function is called first. */
export function lazily<T>(name: string): () => T {
  let loaded: T | undefined
  return () => {
    if (loaded !== undefined) return loaded
    try {
      loaded = require(name) as T
    } catch (error) {
      throw new CompressionError(`the package '${name}' cannot be loaded: ${messageOf(error)}`)
    }
    return loaded
  }
}

/** The same bytes as a `Buffer`, which native packages ask for. No copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

export function tooLarge(limit: number): CompressionError {
  return new CompressionError(`more than ${limit} bytes would come out`)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
