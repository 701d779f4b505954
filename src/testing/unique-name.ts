import { randomUUID } from 'node:crypto'

/** A name that no other test has: `orders-3f2a9c41`. */
export function uniqueName(name: string): string {
  return `${name}-${randomUUID().slice(0, 8)}`
}
