/**
 * How keys and values become bytes and come back: as text, as JSON, as they are, or in a way of your own. Null stays null, which is
 * a tombstone as a value.
 */

/** Turns values into bytes and back. It is never asked about null. */
export interface Serde<T> {
  serialize(value: T): Uint8Array
  deserialize(bytes: Uint8Array): T
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true })

/** UTF-8. Bytes that are none are refused when read. */
export const string: Serde<string> = {
  serialize: text => encoder.encode(text),
  deserialize: bytes => decoder.decode(bytes),
}

/** JSON in UTF-8. */
export const json: Serde<unknown> = {
  serialize: value => encoder.encode(JSON.stringify(value)),
  deserialize: bytes => JSON.parse(decoder.decode(bytes)),
}

/** The bytes themselves. */
export const bytes: Serde<Uint8Array> = {
  serialize: value => value,
  deserialize: value => value,
}
