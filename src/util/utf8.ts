/**
 * UTF-8 without a platform. Short ASCII strings (topic names, ids) take a plain loop, which beats the platform's
 * decoder there; the rest goes to TextEncoder and TextDecoder, which every JavaScript engine we run on has.
 */

declare const TextEncoder: new () => { encodeInto(text: string, target: Uint8Array): { read: number; written: number } }
declare const TextDecoder: new (
  encoding: string,
  options: { ignoreBOM: boolean },
) => { decode(bytes: Uint8Array): string }

const encoder = new TextEncoder()
// Without the option a leading U+FEFF would be swallowed, and two topic names would read as one.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** How many bytes `text` takes in UTF-8 (a lone surrogate counts as U+FFFD). */
export function utf8Length(text: string): number {
  let length = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) continue
    if (unit < 0x800) length += 1
    else if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text, index + 1)) {
      length += 2
      index++
    } else length += 2
  }
  return length
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index)
  return unit >= 0xdc00 && unit < 0xe000
}

/** Writes `text` at `position` of `target`, which must have room for it; returns the position behind it. */
export function utf8Write(text: string, target: Uint8Array, position: number): number {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit >= 0x80) {
      const rest = index === 0 ? text : text.slice(index)
      return position + encoder.encodeInto(rest, target.subarray(position)).written
    }
    target[position++] = unit
  }
  return position
}

export function utf8Encode(text: string): Uint8Array {
  const bytes = new Uint8Array(utf8Length(text))
  utf8Write(text, bytes, 0)
  return bytes
}

/** Reads `bytes[start, end)`; malformed sequences become U+FFFD. */
export function utf8Decode(bytes: Uint8Array, start = 0, end = bytes.length): string {
  if (end - start > 64) return decoder.decode(bytes.subarray(start, end))
  let text = ''
  for (let index = start; index < end; index++) {
    const byte = bytes[index]
    if (byte >= 0x80) return decoder.decode(bytes.subarray(start, end))
    text += String.fromCharCode(byte)
  }
  return text
}
