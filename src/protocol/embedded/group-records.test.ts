import { describe, expect, it } from 'vitest'
import { ByteError } from '../../util/byte-reader.ts'
import { decodeGroupRecord, type EncodableGroupRecord, encodeGroupRecord } from './group-records.ts'

const offset = {
  offset: 42,
  leaderEpoch: 3,
  metadata: 'note',
  commitTimestamp: 1_700_000_000_000,
  expireTimestamp: -1,
  topicId: 'AQIDBAUGBwiImaq7zN3u_w',
}
const NO_ID = 'AAAAAAAAAAAAAAAAAAAAAA'
const offsetKey = { group: 'g', topic: 'orders', partition: 1 }

function throughBytes(record: EncodableGroupRecord) {
  const { key, value } = encodeGroupRecord(record)
  return { version: value?.[1], record: decodeGroupRecord(key, value) }
}

describe('group records', () => {
  it.each([
    ['4 as a rule', offset, 4, offset],
    [
      '1 with a time to expire',
      { ...offset, expireTimestamp: 5 },
      1,
      { ...offset, expireTimestamp: 5, leaderEpoch: -1, topicId: NO_ID },
    ],
  ])('offsets are written in version %s', (_when, value, version, read) => {
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

  it('are the bytes that Kafka 4.4 wrote when kafkajs joined, committed and left', () => {
    const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'))
    const groupKey = bytes('000200026731')
    const joining = bytes('0003000000000000ffffffff000001a22990365600000000')
    const empty = bytes('00030008636f6e73756d657200000002ffffffff000001a229904abe00000000')
    const offsetsKey = bytes('0001000267310002743100000000')
    const committed = bytes('00040000000000000001ffffffff01000001a22990370e010010b8f11de1cd264ab08552019c5f8c0bef')
    for (const [key, value] of [
      [groupKey, joining],
      [groupKey, empty],
      [offsetsKey, committed],
    ]) {
      const record = decodeGroupRecord(key, value)
      expect(encodeGroupRecord(record as EncodableGroupRecord)).toEqual({ key, value })
    }
    expect(decodeGroupRecord(groupKey, empty)).toMatchObject({
      key: { group: 'g1' },
      value: { protocolType: 'consumer', generation: 2, protocol: null, leader: null, members: [] },
    })
    expect(decodeGroupRecord(offsetsKey, committed)).toMatchObject({
      key: { group: 'g1', topic: 't1', partition: 0 },
      value: { offset: 1, leaderEpoch: -1, metadata: '', expireTimestamp: -1, topicId: 'uPEd4c0mSrCFUgGcX4wL7w' },
    })
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
