/**
 * Walks over the batches of a segment's file from front to back through one window, for whoever must look at all of them:
 * recovery, making an index again, cutting a log. A batch that cannot be one is where the walk ends (Kafka's
 * `FileLogInputStream`, strict as `LogSegment.recover`).
 */

import { BATCH_OVERHEAD, batchMagic, batchSize, MAGIC_V2 } from '../records/batch-header.ts'
import { RecordsError } from '../records/records-error.ts'
import type { StorageFile } from '../storage/storage.ts'

const WINDOW_BYTES = 256 * 1024

export class BatchScanner {
  readonly #file: StorageFile
  /** Where the walk ends: the size of the file. */
  readonly end: number
  /** The position of the present batch in the file, or of what is no batch. */
  position: number
  /** Bytes of the present batch. */
  size = 0
  /** Where the present batch lies: valid until the next {@link next}. */
  window: Uint8Array
  at = 0
  #windowStart: number
  #windowLength = 0

  constructor(file: StorageFile, position: number) {
    this.#file = file
    this.end = file.size
    this.position = position
    this.#windowStart = position
    this.window = new Uint8Array(Math.min(WINDOW_BYTES, Math.max(0, this.end - position)))
  }

  /**
   * Goes on to the next batch, which then lies whole in {@link window} from {@link at} on. False at the end.
   *
   * @throws {RecordsError} CORRUPT_MESSAGE for what is no whole batch; {@link position} says where that begins
   */
  next(): boolean {
    this.position += this.size
    this.size = 0
    const left = this.end - this.position
    if (left === 0) return false
    if (left < BATCH_OVERHEAD) throw new RecordsError('CORRUPT_MESSAGE', `a batch is cut off: ${left} bytes are left`)
    this.#show(BATCH_OVERHEAD)
    const size = batchSize(this.window, this.at)
    if (size < BATCH_OVERHEAD || size > left) {
      throw new RecordsError('CORRUPT_MESSAGE', `a batch of ${size} bytes, ${left} are left`)
    }
    const magic = batchMagic(this.window, this.at)
    if (magic !== MAGIC_V2) throw new RecordsError('CORRUPT_MESSAGE', `a batch of format ${magic}`)
    this.#show(size)
    this.size = size
    return true
  }

  /** Sees to it that the window has `length` bytes from the position on. */
  #show(length: number): void {
    const at = this.position - this.#windowStart
    if (at + length <= this.#windowLength) {
      this.at = at
      return
    }
    if (length > this.window.length) this.window = new Uint8Array(Math.min(this.end - this.position, length * 2))
    this.#windowStart = this.position
    this.#windowLength = this.#file.readInto(this.position, this.window)
    this.at = 0
    if (this.#windowLength < length) throw new RecordsError('CORRUPT_MESSAGE', 'the file ends within a batch')
  }
}
