/**
 * What a broker takes at the most before it says no, in one table. Kafka's own configs bound the size of a request
 * (`socket.request.max.bytes`), connections (`max.connections`) and groups (`group.max.size`); these are the rest.
 */
export interface Limits {
  /** Elements of all lists in one request. With more it cannot be read, and the connection is closed. */
  readonly requestElements: number
  /** Bytes of further requests read ahead per connection while one is being worked on. Beyond it the socket is paused. */
  readonly readAheadBytes: number
  /** Room for received and not yet handled bytes over all connections. The connection that would pass it is closed. */
  readonly receivedBytesTotal: number
  /** Bytes of responses per connection that the far side has not taken. Beyond it no further request is worked on. */
  readonly unsentBytes: number
  /** The same over all connections. */
  readonly unsentBytesTotal: number
  /** Bytes of records kept in memory; beyond it producing is refused for good, POLICY_VIOLATION with a message that says so. */
  readonly memoryBytes: number
  /** Files of a data directory that are open at a time; others are opened again when they are used. */
  readonly openFiles: number
  /** How many requests the request log remembers. */
  readonly requestLogSize: number
}

const MEBIBYTE = 1024 * 1024

export const DEFAULT_LIMITS: Limits = {
  requestElements: 1_000_000,
  readAheadBytes: MEBIBYTE,
  receivedBytesTotal: 512 * MEBIBYTE,
  unsentBytes: 64 * MEBIBYTE,
  unsentBytesTotal: 512 * MEBIBYTE,
  memoryBytes: 1024 * MEBIBYTE,
  openFiles: 4000,
  requestLogSize: 0,
}
