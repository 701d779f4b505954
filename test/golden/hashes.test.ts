// Our hashes against what Kafka's own classes answered.

import { describe, expect, it } from 'vitest'
import { coordinatorPartition, javaAbs, javaStringHash } from '../../src/core/java-hash.ts'
import { fnv1a32, javaPartition, murmur2, toPositive } from '../../src/core/partitioners.ts'
import { loadGolden } from './load.ts'

interface Line {
  text?: string
  hex: string
  murmur2: number
  toPositive: number
  partitions: [count: number, partition: number][]
}

const lines = loadGolden<Line>('hashes')
const utf8 = (text: string) => new TextEncoder().encode(text)

describe('hashes, as Kafka computes them', () => {
  it('has all lines', () => expect(lines.length).toBe(322))

  it.each(lines.map(line => [line.hex.slice(0, 40), line] as const))('murmur2 and partitions of %s', (_, line) => {
    const bytes = Uint8Array.from(Buffer.from(line.hex, 'hex'))
    expect(murmur2(bytes)).toBe(line.murmur2)
    expect(toPositive(murmur2(bytes))).toBe(line.toPositive)
    const counts = line.partitions.map(([count]) => count)
    expect(counts.map(count => [count, javaPartition(bytes, count)])).toEqual(line.partitions)
  })
})

describe('hashes without golden lines', () => {
  it.each([
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ])('FNV-1a 32 of %j', (text, hash) => expect(fnv1a32(utf8(text))).toBe(hash))

  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['abc', 479470107],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
  ])('murmur2 of %j', (text, hash) => expect(murmur2(utf8(text))).toBe(hash))

  it.each([
    ['', 0],
    ['a', 97],
    ['hello', 99162322],
    ['polygenelubricants', -2147483648],
    ['\u{1f600}', 1772899],
  ])('String.hashCode of %j', (text, hash) => expect(javaStringHash(text)).toBe(hash))

  it('maps the smallest int to partition 0, because its absolute value is no int', () => {
    expect(javaAbs(-2147483648)).toBe(0)
    expect(javaAbs(-7)).toBe(7)
    expect(coordinatorPartition('polygenelubricants', 50)).toBe(0)
    expect(coordinatorPartition('hello', 50)).toBe(22)
  })
})
