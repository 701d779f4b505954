/**
 * Uuids as Kafka prints them: 16 bytes as 22 characters of base64url without padding. Ottla keeps uuids in this form
 * everywhere inside, since text is what maps are keyed by.
 */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const VALUES = new Uint8Array(128).fill(255)
for (let index = 0; index < 64; index++) VALUES[ALPHABET.charCodeAt(index)] = index

/** The uuid that means "none". */
export const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA'

/** Reads 16 bytes at `position`. */
export function uuidFromBytes(bytes: Uint8Array, position = 0): string {
  let text = ''
  for (let index = 0; index < 15; index += 3) {
    const at = position + index
    const triple = (bytes[at] << 16) | (bytes[at + 1] << 8) | bytes[at + 2]
    text +=
      ALPHABET[triple >> 18] + ALPHABET[(triple >> 12) & 63] + ALPHABET[(triple >> 6) & 63] + ALPHABET[triple & 63]
  }
  const last = bytes[position + 15]
  return text + ALPHABET[last >> 2] + ALPHABET[(last & 3) << 4]
}

/** The 16 bytes of a uuid; throws a RangeError when `text` is not one. */
export function uuidToBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(16)
  if (text.length !== 22) throw new RangeError(`not a uuid: ${text}`)
  let bits = 0
  let held = 0
  let position = 0
  for (let index = 0; index < 22; index++) {
    const value = VALUES[text.charCodeAt(index)] ?? 255
    if (value === 255) throw new RangeError(`not a uuid: ${text}`)
    bits = (bits << 6) | value
    held += 6
    if (held >= 8 && position < 16) {
      held -= 8
      bytes[position++] = (bits >> held) & 0xff
    }
  }
  return bytes
}

/** A new random uuid, never one that begins with a dash (command lines would take it for an option), as in Kafka. */
export function randomUuid(random: () => number): string {
  for (;;) {
    const bytes = new Uint8Array(16)
    for (let index = 0; index < 16; index++) bytes[index] = Math.floor(random() * 256)
    bytes[6] = (bytes[6] & 0x0f) | 0x40
    bytes[8] = (bytes[8] & 0x3f) | 0x80
    const text = uuidFromBytes(bytes)
    if (!text.startsWith('-')) return text
  }
}

/** A uuid in the dashed hexadecimal form, as Java's UUID prints it (member ids end with one). */
export function randomDashedUuid(random: () => number): string {
  const bytes = uuidToBytes(randomUuid(random))
  let hex = ''
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
