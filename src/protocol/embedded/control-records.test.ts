import { describe, expect, it } from 'vitest'
import { ByteError } from '../../util/byte-reader.ts'
import {
  decodeControlRecordKey,
  decodeEndTxnMarker,
  encodeControlRecordKey,
  encodeEndTxnMarker,
} from './control-records.ts'

describe('control records', () => {
  it('have a key of version and type', () => {
    expect([...encodeControlRecordKey('ABORT')]).toEqual([0, 0, 0, 0])
    expect([...encodeControlRecordKey('COMMIT')]).toEqual([0, 0, 0, 1])
    expect(decodeControlRecordKey(Uint8Array.of(0, 0, 0, 0))).toBe('ABORT')
    expect(decodeControlRecordKey(Uint8Array.of(0, 5, 0, 1))).toBe('COMMIT')
  })

  it('of other types are none of ours', () => {
    expect(decodeControlRecordKey(Uint8Array.of(0, 0, 0, 2))).toBeUndefined()
    expect(() => decodeControlRecordKey(Uint8Array.of(0, 0, 0))).toThrow(ByteError)
  })

  it('carry the epoch of the coordinator', () => {
    expect([...encodeEndTxnMarker(258)]).toEqual([0, 0, 0, 0, 1, 2])
    expect(decodeEndTxnMarker(encodeEndTxnMarker(7))).toEqual({ coordinatorEpoch: 7 })
    expect(() => decodeEndTxnMarker(Uint8Array.of(0, 0, 0, 0))).toThrow(ByteError)
  })
})
