import { describe, expect, it } from 'vitest'
import { utf8Decode, utf8Encode, utf8Length, utf8Write } from './utf8.ts'

const TEXTS = [
  '',
  'orders',
  'é',
  'orders-é',
  '日本',
  '😀',
  'a😀b',
  '\u0000',
  '\u007f\u0080\u07ff\u0800\uffff',
  '\u{10000}\u{10ffff}',
  'x'.repeat(64),
  'x'.repeat(65),
  `${'x'.repeat(64)}é`,
  '\ufeffbom',
  `\ufeff${'x'.repeat(100)}`,
]

describe('utf8', () => {
  it.each(TEXTS)('%j is encoded as the platform does, and comes back', text => {
    const bytes = Uint8Array.from(Buffer.from(text, 'utf8'))
    expect(utf8Length(text)).toBe(bytes.length)
    expect(utf8Encode(text)).toEqual(bytes)
    expect(utf8Decode(bytes)).toBe(text)
  })

  it.each([
    ['\ud83d', 'efbfbd'],
    ['\ude00', 'efbfbd'],
    ['\ude00\ud83d', 'efbfbdefbfbd'],
    ['a\ud83db', '61efbfbd62'],
    ['\ud83d\ud83d\ude00', 'efbfbdf09f9880'],
    ['\ud83d\ude00\ude00', 'f09f9880efbfbd'],
  ])('%j: a surrogate alone becomes U+FFFD', (text, hex) => {
    expect(Buffer.from(utf8Encode(text)).toString('hex')).toBe(hex)
    expect(utf8Length(text)).toBe(hex.length / 2)
  })

  it('writes in the middle and says where it ended', () => {
    const target = new Uint8Array(10).fill(1)
    expect(utf8Write('aé', target, 2)).toBe(5)
    expect([...target]).toEqual([1, 1, 0x61, 0xc3, 0xa9, 1, 1, 1, 1, 1])
  })

  it('decodes a part', () => {
    const bytes = utf8Encode('abécd')
    expect(utf8Decode(bytes, 1, 4)).toBe('bé')
    expect(utf8Decode(bytes, 0, 2)).toBe('ab')
    expect(utf8Decode(bytes, 2, 2)).toBe('')
  })

  it.each(['80', 'c3', 'c080', 'eda080', 'f4908080', 'ff'])('malformed %s becomes U+FFFD, short or long', hex => {
    const short = Buffer.from(hex, 'hex')
    expect(utf8Decode(short)).toMatch(/^\ufffd+$/)
    const long = Buffer.concat([Buffer.from('x'.repeat(80)), short])
    expect(utf8Decode(long)).toBe(`${'x'.repeat(80)}${utf8Decode(short)}`)
  })
})
