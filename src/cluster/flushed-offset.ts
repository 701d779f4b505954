/**
 * How far the metadata log was brought to the disk, noted in a small file beside it. The note is written over in place after each
 * flush and is not flushed itself, so that it costs next to nothing: after a power cut it may be old, but it never says too much. With it
 * a tail that was never promised can be told from decisions that were there and are damaged now. Kafka has no such thing.
 */

import type { Crc32c } from '../records/crc32c.ts'
import { readWhole } from '../storage/read-whole.ts'
import { isShortOfRoom, type Storage, StorageError, type StorageFailure, type StorageFile } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'

export const FLUSHED_OFFSET_FILE = 'flushed-offset'

export interface FlushedOffsetOptions {
  readonly env: Env
  readonly storage: Storage
  readonly platform: { readonly crc32c: Crc32c }
  readonly directory: string
}

/** What the note says; undefined when there is none, or half of one. */
export function readFlushedOffset(storage: Storage, directory: string, crc32c: Crc32c): number | undefined {
  const bytes = readWhole(storage, `${directory}/${FLUSHED_OFFSET_FILE}`)
  if (bytes === undefined) return undefined
  const text = utf8Decode(bytes)
  const offset = Number(text.slice(0, 20))
  return /^\d{20} [0-9a-f]{8}\n$/.test(text) && text === noteOf(offset, crc32c) ? offset : undefined
}

function noteOf(offset: number, crc32c: Crc32c): string {
  const digits = String(offset).padStart(20, '0')
  const checksum = crc32c(utf8Encode(digits), 0, digits.length) >>> 0
  return `${digits} ${checksum.toString(16).padStart(8, '0')}\n`
}

export class FlushedOffset {
  readonly #options: FlushedOffsetOptions
  #file: StorageFile | undefined
  /** It cannot be written: what it says is true all the same, if less than it might. */
  #gaveUp: boolean

  constructor(options: FlushedOffsetOptions) {
    this.#options = options
    this.#gaveUp = options.storage.isVolatile
  }

  /** Everything below `offset` is on the disk. */
  note(offset: number): void {
    if (this.#gaveUp) return
    const { env, storage, platform, directory } = this.#options
    const bytes = utf8Encode(noteOf(offset, platform.crc32c))
    const path = `${directory}/${FLUSHED_OFFSET_FILE}`
    try {
      this.#file ??= storage.open(path, { create: true, exempt: true })
      if (this.#file.size === bytes.length) return this.#file.writeAt(0, bytes)
      this.#file.truncate(0)
      this.#file.appendv([bytes])
    } catch (error) {
      if (!(error instanceof StorageError)) throw error
      // Where there is room again it is noted with what is decided then.
      this.#gaveUp = !isShortOfRoom(error.code)
      env.log('warn', 'cannot note how far the metadata is on the disk', { path, error: error.message })
    }
  }

  /** Brings the note itself to the disk, and lets go of the file. */
  close(): Later<StorageFailure | undefined> {
    const file = this.#file
    this.#file = undefined
    if (this.#gaveUp || file === undefined)
      return Later.of<StorageFailure | undefined>(this.#options.env.turns, undefined)
    this.#gaveUp = true
    const closed = new Later<StorageFailure | undefined>(this.#options.env.turns)
    file.flush().whenSettled(failure => {
      file.close().whenSettled(() => closed.settle(failure))
    })
    return closed
  }
}
