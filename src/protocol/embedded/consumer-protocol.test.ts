import { describe, expect, it } from 'vitest'
import { ByteError } from '../../util/byte-reader.ts'
import { decodeAssignment, decodeSubscription, encodeAssignment, encodeSubscription } from './consumer-protocol.ts'

describe('consumer protocol', () => {
  it('takes no bytes at all for an empty assignment, but not for a subscription', () => {
    expect(decodeAssignment(new Uint8Array(0))).toEqual({ assignedPartitions: [], userData: null })
    expect(() => decodeSubscription(new Uint8Array(0))).toThrow(ByteError)
  })

  it('writes the newest version unless told otherwise', () => {
    const subscription = {
      topics: ['orders'],
      userData: null,
      ownedPartitions: [{ topic: 'orders', partitions: [1, 2] }],
      generationId: 4,
      rackId: 'a',
    }
    const blob = encodeSubscription(subscription)
    expect(blob[1]).toBe(3)
    expect(decodeSubscription(blob)).toEqual(subscription)
    const old = encodeSubscription(subscription, 0)
    expect(old[1]).toBe(0)
    expect(decodeSubscription(old)).toEqual({ ...subscription, ownedPartitions: [], generationId: -1, rackId: null })
    expect(encodeAssignment({ assignedPartitions: [] })[1]).toBe(3)
  })

  it('reads a version to come with the newest layout', () => {
    const blob = encodeSubscription({ topics: ['orders'], rackId: 'a' })
    const later = Uint8Array.of(0, 9, ...blob.subarray(2), 1, 2, 3)
    expect(decodeSubscription(later)).toEqual(decodeSubscription(blob))
  })

  it('refuses what is cut short and versions below zero', () => {
    const blob = encodeSubscription({ topics: ['orders'] })
    expect(() => decodeSubscription(blob.subarray(0, blob.length - 1))).toThrow(ByteError)
    expect(() => decodeSubscription(Uint8Array.of(0xff, 0xff, ...blob.subarray(2)))).toThrow(ByteError)
  })
})
