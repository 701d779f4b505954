/**
 * Assertions that stay on in production. A failed one means that Ottla itself is wrong: the connection that
 * met it is closed and a `fatal` event carries the request; it is never turned into a protocol error.
 */

/** Thrown by {@link assert}: a mistake inside Ottla, never the caller's. */
export class AssertionError extends Error {
  override readonly name = 'AssertionError'
}

/** Demands that something which must be true is true. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message)
}
