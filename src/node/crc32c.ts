/**
 * CRC-32C on Node: the native package `@node-rs/crc32` where it can be loaded (it is an optional dependency), else
 * WebAssembly, else plain JavaScript. Chosen at the first batch that is long enough to gain by it: loading takes some
 * milliseconds that a starting broker need not spend.
 */

import { createRequire } from 'node:module'
import { type Crc32c, crc32cJs } from '../records/crc32c.ts'
import { makeCrc32cWasm } from '../records/crc32c-wasm.ts'

const require = createRequire(import.meta.url)

/** Up to here plain JavaScript is as fast as a call into native code (measured on Node 20: they meet at about 250). */
const WORTHWHILE = 256

/** The fastest there is. `load` and `compile` are there so that tests can take them away. */
export function chooseCrc32c(load: (name: string) => unknown = require, compile = makeCrc32cWasm): Crc32c {
  try {
    const { crc32c } = load('@node-rs/crc32') as typeof import('@node-rs/crc32')
    return (bytes, start, end) => crc32c(bytes.subarray(start, end) as Buffer)
  } catch {
    try {
      return compile()
    } catch {
      return crc32cJs
    }
  }
}

let chosen: Crc32c | undefined

/** The CRC-32C of record batches, by whatever is fastest here. */
export function nodeCrc32c(bytes: Uint8Array, start: number, end: number): number {
  if (end - start < WORTHWHILE) return crc32cJs(bytes, start, end)
  return (chosen ??= chooseCrc32c())(bytes, start, end)
}
