import { describe, expect, it } from 'vitest'
import { ByteError } from '../util/byte-reader.ts'
import { concat } from '../util/byte-writer.ts'
import { apiVersions, fetch, heartbeat } from './apis/index.ts'
import { decodeRequest, decodeResponse, encodeRequest, encodeResponse } from './frame.ts'

const hexOf = (parts: Uint8Array[]): string => Buffer.from(concat(parts)).toString('hex')
const behindLength = (parts: Uint8Array[]): Uint8Array => concat(parts).subarray(4)

describe('frames', () => {
  const header = { apiKey: 12, correlationId: 7, clientId: 'me' }
  const body = { groupId: 'g', generationId: 1, memberId: 'm', groupInstanceId: null }

  it('of a request: length, header, body', () => {
    expect(hexOf(encodeRequest(heartbeat, { ...header, apiVersion: 0 }, body))).toBe(
      ['00000016', '000c', '0000', '00000007', '00026d65', '000167', '00000001', '00016d'].join(''),
    )
    expect(hexOf(encodeRequest(heartbeat, { ...header, apiVersion: 4 }, body))).toBe(
      ['00000017', '000c', '0004', '00000007', '00026d65', '00', '0267', '00000001', '026d', '00', '00'].join(''),
    )
  })

  it('of a request come back', () => {
    for (const apiVersion of [0, 3, 4]) {
      const parts = encodeRequest(heartbeat, { ...header, apiVersion }, body)
      expect(decodeRequest(heartbeat, apiVersion, behindLength(parts))).toEqual({
        header: { ...header, apiVersion },
        body,
      })
    }
  })

  it('of a response: length, correlation id, body; a tag buffer behind the header in flexible versions', () => {
    expect(hexOf(encodeResponse(heartbeat, 0, 7, { errorCode: 25 }))).toBe('00000006000000070019')
    expect(hexOf(encodeResponse(heartbeat, 1, 7, { errorCode: 25 }))).toBe('0000000a00000007000000000019')
    const parts = encodeResponse(heartbeat, 4, 7, { errorCode: 25 })
    expect(hexOf(parts)).toBe(['0000000c', '00000007', '00', '00000000', '0019', '00'].join(''))
    expect(decodeResponse(heartbeat, 4, behindLength(parts))).toEqual({
      correlationId: 7,
      body: { throttleTimeMs: 0, errorCode: 25 },
    })
  })

  it('of an answer to ApiVersions have the oldest header in every version', () => {
    expect(hexOf(encodeResponse(apiVersions, 3, 7, { errorCode: 35 }))).toBe(
      ['0000000c', '00000007', '0023', '01', '00000000', '00'].join(''),
    )
    expect(decodeResponse(apiVersions, 3, Buffer.from('00000007002301000000000000', 'hex')).body.errorCode).toBe(35)
  })

  it('carry record batches as they are, and count them', () => {
    const batch = new Uint8Array(1000).fill(5)
    const parts = encodeResponse(fetch, 12, 7, {
      responses: [{ topic: 't', partitions: [{ partitionIndex: 0, records: [batch, batch] }] }],
    })
    expect(parts.filter(part => part === batch)).toHaveLength(2)
    const whole = concat(parts)
    expect(new DataView(whole.buffer).getInt32(0)).toBe(whole.length - 4)
    const { body } = decodeResponse(fetch, 12, whole.subarray(4))
    expect(body.responses[0].partitions[0].records).toEqual(concat([batch, batch]))
  })

  it('cut short are refused', () => {
    const request = behindLength(encodeRequest(heartbeat, { ...header, apiVersion: 4 }, body))
    for (let end = 0; end < request.length; end++) {
      expect(() => decodeRequest(heartbeat, 4, request.subarray(0, end))).toThrow(ByteError)
    }
    expect(() => decodeResponse(heartbeat, 0, new Uint8Array(5))).toThrow(ByteError)
  })
})
