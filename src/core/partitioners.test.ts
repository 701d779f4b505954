import { describe, expect, it } from 'vitest'
import { utf8Encode } from '../util/utf8.ts'
import { fnv1a32, javaPartition, murmur2, toPositive } from './partitioners.ts'

/** Kafka's own answers, also over many more keys, are compared in test/golden/; here are those that anybody can look up. */

describe('murmur2', () => {
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
    ['', 275646681],
  ])('of %j is %i', (text, hash) => {
    expect(murmur2(utf8Encode(text))).toBe(hash)
  })
})

describe('fnv1a32', () => {
  it.each([
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['foobar', 0xbf9cf968],
  ])('of %j is %i', (text, hash) => {
    expect(fnv1a32(utf8Encode(text))).toBe(hash)
  })
})

it('clears the sign bit, which is not the absolute value', () => {
  expect([0, 1, -1, -2147483648, 2147483647].map(toPositive)).toEqual([0, 1, 2147483647, 0, 2147483647])
})

it('takes the hash modulo the number of partitions', () => {
  expect(javaPartition(utf8Encode('abc'), 12)).toBe(479470107 % 12)
  expect(javaPartition(utf8Encode('foobar'), 12)).toBe((-790332482 & 0x7fffffff) % 12)
})
