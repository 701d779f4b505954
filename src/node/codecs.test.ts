import { deflateRawSync, gzipSync, inflateRawSync } from 'node:zlib'
import { compressFrameSync } from 'lz4-napi'
import { describe, expect, it } from 'vitest'
import { CompressionError } from '../records/compression.ts'
import { messageOf } from './codecs/codec.ts'
import { zstdWithoutNode } from './codecs/zstd.ts'
import { nodeCompression } from './codecs.ts'

type CompressionLike = {
  compress(bytes: Uint8Array): Uint8Array
  decompress(bytes: Uint8Array, limit: number): Uint8Array
}

function codec(name: 'gzip' | 'snappy' | 'lz4' | 'zstd'): CompressionLike {
  return {
    compress: bytes => nodeCompression.compress(name, bytes),
    decompress: (bytes, limit) => nodeCompression.decompress(name, bytes, limit),
  }
}

const gzip = codec('gzip')
const snappy = codec('snappy')
const lz4 = codec('lz4')
const zstd = codec('zstd')

const codecs: [string, CompressionLike][] = [
  ['gzip', gzip],
  ['snappy', snappy],
  ['lz4', lz4],
  ['zstd', zstd],
  ['zstd without Node', zstdWithoutNode],
]

const text = new Uint8Array(
  Buffer.from(Array.from({ length: 9000 }, (_, n) => `{"id":${n},"city":"Rovaniemi"}`).join()),
)
const noise = new Uint8Array(100_000)
let state = 7
for (let at = 0; at < noise.length; at++) noise[at] = (state = Math.imul(state, 1664525) + 1013904223) >>> 24
const zeros = new Uint8Array(4_000_000)

function concat(...parts: ArrayLike<number>[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts.map(part => Uint8Array.from(part))))
}

function same(left: Uint8Array, right: Uint8Array): boolean {
  return Buffer.compare(left, right) === 0
}

describe.each(codecs)('%s', (_, { compress, decompress }) => {
  it('gives back what it was given: text, noise, one byte, nothing', () => {
    for (const bytes of [text, noise, Uint8Array.of(7), new Uint8Array(0)]) {
      expect(same(decompress(compress(bytes), bytes.length), bytes), `${bytes.length}`).toBe(true)
    }
    expect(compress(text).length).toBeLessThan(text.length / 2)
  })

  it('takes bytes out of the middle of a buffer', () => {
    const packed = compress(text)
    const around = concat([1, 2, 3], packed, [4, 5])
    expect(same(decompress(around.subarray(3, 3 + packed.length), text.length), text)).toBe(true)
    expect(same(decompress(compress(around.subarray(3)), around.length), around.subarray(3))).toBe(true)
  })

  it('stops at the limit, also when little makes much', () => {
    const bomb = compress(zeros)
    expect(bomb.length).toBeLessThan(zeros.length / 20)
    for (const limit of [0, 1000, zeros.length - 1]) expect(() => decompress(bomb, limit)).toThrow(/would come out/)
    expect(decompress(bomb, zeros.length).length).toBe(zeros.length)
    for (const bytes of [text, noise]) {
      const packed = compress(bytes)
      expect(() => decompress(packed, bytes.length - 1)).toThrow(/would come out/)
      expect(same(decompress(packed, bytes.length * 10), bytes)).toBe(true)
    }
  })

  it('refuses what is cut off, wherever', () => {
    const packed = compress(text.subarray(0, 3000))
    for (let length = 1; length < packed.length; length++) {
      // Behind a whole block or a whole header, snappy's framing cannot be told from a complete one.
      const isWholeXerial = packed[0] === 0x82 && length >= 16 && length < 20
      if (!isWholeXerial) expect(() => decompress(packed.subarray(0, length), 5000), `${length}`).toThrow()
    }
  })

  it('refuses garbage', () => {
    for (const bytes of [noise, text, concat([0xff]), concat(compress(text).subarray(0, 9), noise)]) {
      expect(() => decompress(bytes, 10_000_000)).toThrow()
    }
  })

  it('never gives more than the limit, nor crashes, whatever bit is wrong', () => {
    const packed = compress(text.subarray(0, 300))
    for (let at = 0; at < packed.length; at++) {
      for (let bit = 1; bit < 256; bit <<= 1) {
        packed[at] ^= bit
        try {
          expect(decompress(packed, 1000).length).toBeLessThanOrEqual(1000)
        } catch (error) {
          expect(messageOf(error)).not.toMatch(/undefined|is not a function/)
        }
        packed[at] ^= bit
      }
    }
  })
})

describe('what breaks is a CompressionError', () => {
  it.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)('in %s', name => {
    expect(() => nodeCompression.decompress(name, noise, 1000)).toThrow(CompressionError)
  })

  it('and so is a codec that is none', () => {
    expect(() => nodeCompression.decompress('none', noise, 1000)).toThrow(CompressionError)
    expect(() => nodeCompression.compress('none', noise)).toThrow(CompressionError)
  })
})

describe('bytes that are no Buffer', () => {
  it.each(['gzip', 'snappy', 'lz4', 'zstd'] as const)('come out of %s', name => {
    const packed = nodeCompression.compress(name, text)
    expect(packed).not.toBeInstanceOf(Buffer)
    expect(nodeCompression.decompress(name, packed, text.length)).not.toBeInstanceOf(Buffer)
  })
})

describe('several streams, one behind the other', () => {
  it.each([
    ['gzip', gzip],
    ['snappy', snappy],
    ['zstd', zstd],
    ['zstd without Node', zstdWithoutNode],
  ])('are one to %s, and share one limit', (_, { compress, decompress }) => {
    const packed = concat(compress(text), compress(noise))
    expect(same(decompress(packed, text.length + noise.length), concat(text, noise))).toBe(true)
    expect(() => decompress(packed, text.length + noise.length - 1)).toThrow(/would come out/)
  })

  it('are not to lz4: Kafka reads the first', () => {
    expect(same(lz4.decompress(concat(lz4.compress(text), lz4.compress(noise)), text.length), text)).toBe(true)
  })
})

describe('bytes behind the stream', () => {
  it('are ignored by gzip, also behind several members', () => {
    for (const behind of [[0], [1, 2, 3], [0x1f, 0x8b], Array(40).fill(0x1f)]) {
      const packed = concat(gzip.compress(text), gzip.compress(noise), behind)
      expect(same(gzip.decompress(packed, 1_000_000), concat(text, noise))).toBe(true)
      expect(() => gzip.decompress(packed, text.length + noise.length - 1)).toThrow(/would come out/)
      expect(() => gzip.decompress(packed, text.length - 1)).toThrow(/would come out/)
    }
  })

  it('are ignored by snappy when they are no block, and by lz4', () => {
    expect(same(snappy.decompress(concat(snappy.compress(text), [1, 2, 3]), text.length), text)).toBe(true)
    expect(same(lz4.decompress(concat(lz4.compress(text), [1, 2, 3, 4, 5]), text.length), text)).toBe(true)
  })

  it.each([
    ['zstd', zstd],
    ['zstd without Node', zstdWithoutNode],
  ])('are refused by %s', (_, { compress, decompress }) => {
    for (const behind of [[0], [1, 2, 3, 4], [0x28, 0xb5, 0x2f, 0xfd]]) {
      expect(() => decompress(concat(compress(text), behind), text.length)).toThrow()
    }
  })
})

describe('gzip', () => {
  it('reads all optional fields of a header when bytes stand behind, and checks what it read', () => {
    const extra = [5, 0, 1, 2, 3, 4, 5]
    const name = Buffer.from('name\0')
    const comment = Buffer.from('comment\0')
    const trailer = gzipSync(text).subarray(-8)
    const member = concat(
      [0x1f, 0x8b, 8, 0x1e, 0, 0, 0, 0, 0, 3],
      extra,
      name,
      comment,
      [0, 0],
      deflateRawSync(text),
      trailer,
    )
    expect(same(gzip.decompress(concat(member, [9]), text.length), text)).toBe(true)
    for (const at of [1, 5]) {
      const wrong = concat(member, [9])
      wrong[member.length - at]++
      expect(() => gzip.decompress(wrong, text.length)).toThrow(CompressionError)
    }
  })
})

describe('snappy', () => {
  it('is written in the framing of snappy-java, in blocks of 32 kB', () => {
    const packed = Buffer.from(snappy.compress(noise))
    expect(packed.subarray(0, 16).toString('hex')).toBe('82534e415050590000000001' + '00000001')
    let blocks = 0
    for (let at = 16; at < packed.length; at += 4 + packed.readInt32BE(at)) blocks++
    expect(blocks).toBe(Math.ceil(noise.length / 32768))
  })

  it('does not believe a block that claims to hold 4 GB', () => {
    expect(() => snappy.decompress(Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f, 0), 2 ** 30)).toThrow(/would come out/)
  })
})

describe('lz4', () => {
  it('is written as Java reads it: version 1, independent blocks', () => {
    expect(lz4.compress(text)[4] & 0xe0).toBe(0x60)
  })

  it('is read with checksums, and they are checked', () => {
    const options = { contentChecksum: true, blockChecksums: true }
    const packed = new Uint8Array(compressFrameSync(Buffer.from(text), options))
    expect(same(lz4.decompress(packed, text.length), text)).toBe(true)
    packed[packed.length - 1] ^= 1
    expect(() => lz4.decompress(packed, text.length)).toThrow(CompressionError)
  })
})

describe('zstd', () => {
  it('skips frames that hold no content', () => {
    const skippable = [0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]
    const packed = concat(skippable, zstd.compress(text), skippable)
    for (const { decompress } of [zstd, zstdWithoutNode]) expect(same(decompress(packed, text.length), text)).toBe(true)
  })

  it('refuses a frame that asks for a window of more than 128 MB', () => {
    const frame = concat([0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x90, 1, 0, 0])
    for (const { decompress } of [zstd, zstdWithoutNode]) expect(() => decompress(frame, 10)).toThrow(/window/)
  })
})

describe('gzip in steps', () => {
  const STEP = 64 * 1024
  const long = concat(text, noise, text, text, noise.subarray(5))

  function inSteps(bytes: Uint8Array): { packed: Uint8Array; steps: number[] } {
    const generator = nodeCompression.compressInSteps?.('gzip', bytes)
    if (generator === undefined) throw new Error('it is not done in steps')
    const steps: number[] = []
    for (;;) {
      const step = generator.next()
      if (step.done) return { packed: step.value, steps }
      steps.push(step.value)
    }
  }

  it.each([STEP + 1, 2 * STEP - 1, 2 * STEP, 2 * STEP + 1, 7 * STEP + 9])('is one member of %i bytes', length => {
    const bytes = long.subarray(0, length)
    const { packed, steps } = inSteps(bytes)
    expect(same(gzip.decompress(packed, length), bytes)).toBe(true)
    expect(Object.getPrototypeOf(packed)).toBe(Uint8Array.prototype)
    expect(Math.max(...steps)).toBe(STEP)
    expect(steps.reduce((sum, step) => sum + step)).toBe(length)
    // The second stream of a file with two would be taken for garbage by some: the first is all of it.
    const { buffer, engine } = inflateRawSync(packed.subarray(10), { info: true }) as unknown as {
      buffer: Uint8Array
      engine: { bytesWritten: number }
    }
    expect([buffer.length, engine.bytesWritten]).toEqual([length, packed.length - 18])
  })

  it('knows what came before: it is hardly larger than in one piece', () => {
    expect(inSteps(long).packed.length).toBeLessThan(gzip.compress(long).length * 1.01)
  })

  it('is for what takes long', () => {
    expect(nodeCompression.compressInSteps?.('gzip', new Uint8Array(STEP))).toBeUndefined()
    expect(nodeCompression.compressInSteps?.('lz4', long)).toBeUndefined()
  })
})
