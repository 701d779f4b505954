import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { crc32cJs } from '../records/crc32c.ts'
import { decodeSnapshot, encodeSnapshot } from './producer-snapshot.ts'
import type { ProducerBatch, ProducerEntry } from './producer-state.ts'

const batch = (lastSequence: number, lastOffset: number, delta = 0): ProducerBatch => ({
  firstSequence: lastSequence - delta,
  lastSequence,
  firstOffset: lastOffset - delta,
  lastOffset,
  timestamp: 1000 + lastOffset,
})
const producer = (more: Partial<ProducerEntry> = {}): ProducerEntry => ({
  producerId: 7,
  producerEpoch: 2,
  batches: [batch(0, 10), batch(4, 14, 3)],
  coordinatorEpoch: -1,
  lastTimestamp: 1014,
  currentTransactionFirstOffset: -1,
  ...more,
})
const again = (producers: ProducerEntry[]) => decodeSnapshot(encodeSnapshot(producers, crc32cJs), crc32cJs)

describe('a producer snapshot', () => {
  it('has the bytes of Kafka', () => {
    const bytes = encodeSnapshot(
      [producer({ batches: [batch(4, 14, 3)], currentTransactionFirstOffset: 11 })],
      crc32cJs,
    )
    const hex = [...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('')
    const crc = crc32cJs(bytes, 6, bytes.length).toString(16).padStart(8, '0')
    const entry = [
      '0000000000000007', // producer id
      '0002', // epoch
      '00000004', // last sequence
      '000000000000000e', // last offset
      '00000003', // offset delta
      '00000000000003f6', // timestamp
      'ffffffff', // coordinator epoch
      '000000000000000b', // first offset of the open transaction
    ].join('')
    expect(hex).toBe(`0001${crc}00000001${entry}`)
  })

  it('keeps up to five batches of each producer, and the time of a marker behind them', () => {
    const five = [0, 1, 2, 3, 4].map(index => batch(index, 20 + index))
    const producers = [
      producer(),
      producer({ producerId: 8, batches: five, lastTimestamp: 1024 }),
      producer({ producerId: 9, lastTimestamp: 5000, coordinatorEpoch: 3 }),
      producer({ producerId: 10, batches: [], lastTimestamp: 77, coordinatorEpoch: 1 }),
      producer({ producerId: 11, currentTransactionFirstOffset: 11 }),
    ]
    expect(again(producers)).toEqual(producers)
    expect(again([])).toEqual([])
  })

  it('counts sequences around their end', () => {
    const wrapped = { ...batch(1, 50, 3), firstSequence: 0x7fffffff - 1 }
    expect(again([producer({ batches: [wrapped], lastTimestamp: 1050 })])?.[0].batches).toEqual([wrapped])
  })

  it('takes the last entry of a producer for its state, as Kafka does', () => {
    const old = producer({ producerEpoch: 1, batches: [batch(9, 9)], lastTimestamp: 1009 })
    expect(again([old, producer()])).toEqual([producer()])
  })

  it('is refused when a single bit of it is wrong, or it is cut or longer', () => {
    const bytes = encodeSnapshot([producer()], crc32cJs)
    fc.assert(
      fc.property(fc.nat(bytes.length * 8 - 1), bit => {
        const spoilt = bytes.slice()
        spoilt[bit >> 3] ^= 1 << (bit & 7)
        expect(decodeSnapshot(spoilt, crc32cJs)).toBeUndefined()
      }),
    )
    for (const length of [0, 1, 5, 9, bytes.length - 1]) {
      expect(decodeSnapshot(bytes.subarray(0, length), crc32cJs)).toBeUndefined()
    }
    expect(decodeSnapshot(Uint8Array.from([...bytes, 0]), crc32cJs)).toBeUndefined()
  })
})
