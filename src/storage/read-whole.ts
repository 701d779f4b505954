import { concat } from '../util/byte-writer.ts'
import type { Storage } from './storage.ts'

/** All bytes of a small file, or undefined when there is none. The file is not kept open. */
export function readWhole(storage: Storage, path: string): Uint8Array | undefined {
  if (!storage.exists(path)) return undefined
  const file = storage.open(path)
  try {
    return concat(file.read(0, file.size))
  } finally {
    file.close()
  }
}
