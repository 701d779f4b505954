import { describe, expect, it } from 'vitest'
import { ByteError } from '../../util/byte-reader.ts'
import { decodeGroupRecord, type EncodableGroupRecord, encodeGroupRecord } from './group-records.ts'

const offset = {
  offset: 42,
  leaderEpoch: 3,
  metadata: 'note',
  commitTimestamp: 1_700_000_000_000,
  expireTimestamp: -1,
  topicId: 'AAAAAAAAAAAAAAAAAAAAAA',
}
const offsetKey = { group: 'g', topic: 'orders', partition: 1 }

function throughBytes(record: EncodableGroupRecord) {
  const { key, value } = encodeGroupRecord(record)
  return { version: value?.[1], record: decodeGroupRecord(key, value) }
}

describe('group records', () => {
  it.each([
    ['3 as a rule', offset, 3, offset],
    ['4 with a topic id', { ...offset, topicId: 'AQIDBAUGBwiImaq7zN3u_w' }, 4, undefined],
    [
      '1 with a time to expire',
      { ...offset, expireTimestamp: 5 },
      1,
      { ...offset, expireTimestamp: 5, leaderEpoch: -1 },
    ],
  ])('offsets are written in version %s', (_when, value, version, read = value) => {
    const result = throughBytes({ type: 'offsetCommit', key: offsetKey, value })
    expect(result).toEqual({ version, record: { type: 'offsetCommit', key: offsetKey, value: read } })
  })

  it('groups come back', () => {
    const value = {
      protocolType: 'consumer',
      generation: 2,
      protocol: null,
      leader: null,
      currentStateTimestamp: 1_700_000_000_000,
      members: [
        {
          memberId: 'm',
          groupInstanceId: 'i',
          clientId: 'c',
          clientHost: '/127.0.0.1',
          rebalanceTimeout: 60000,
          sessionTimeout: 10000,
          subscription: Uint8Array.of(1),
          assignment: Uint8Array.of(2),
        },
      ],
    }
    const key = { group: 'g' }
    const result = throughBytes({ type: 'groupMetadata', key, value })
    expect(result).toEqual({ version: 3, record: { type: 'groupMetadata', key, value } })
  })

  it('without a value are tombstones', () => {
    for (const record of [
      { type: 'offsetCommit', key: offsetKey, value: null },
      { type: 'groupMetadata', key: { group: 'g' }, value: null },
    ] as const) {
      expect(throughBytes(record)).toEqual({ version: undefined, record })
    }
  })

  it('of a type that is not known are said to be so', () => {
    expect(decodeGroupRecord(Uint8Array.of(0, 3, 0, 1, 65), Uint8Array.of(0, 0))).toEqual({
      type: 'unknown',
      recordType: 3,
    })
  })

  it('cut short are refused', () => {
    const { key, value } = encodeGroupRecord({ type: 'offsetCommit', key: offsetKey, value: offset })
    expect(() => decodeGroupRecord(key.subarray(0, 1), value)).toThrow(ByteError)
    expect(() => decodeGroupRecord(key.subarray(0, 5), value)).toThrow(ByteError)
    expect(() => decodeGroupRecord(key, (value as Uint8Array).subarray(0, 9))).toThrow(ByteError)
    expect(() => decodeGroupRecord(key, new Uint8Array(0))).toThrow(ByteError)
  })
})
