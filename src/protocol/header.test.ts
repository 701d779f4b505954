import { describe, expect, it } from 'vitest'
import { ByteReader } from '../util/byte-reader.ts'
import { ByteWriter } from '../util/byte-writer.ts'
import { APIS, apiVersions, heartbeat, offsetDelete } from './apis/index.ts'
import { isFlexible } from './codec.ts'
import { readRequestHeader, readResponseHeader, writeRequestHeader, writeResponseHeader } from './header.ts'

function read(hex: string): ByteReader {
  return new ByteReader(Buffer.from(hex, 'hex'))
}

function written(write: (writer: ByteWriter) => void): string {
  const writer = new ByteWriter()
  write(writer)
  return Buffer.from(writer.finish()).toString('hex')
}

describe('headers', () => {
  it('of a request leave the reader at the body', () => {
    const reader = read('000c0003000000070002 6d65 aa'.replaceAll(' ', ''))
    expect(readRequestHeader(heartbeat, 3, reader)).toEqual({
      apiKey: 12,
      apiVersion: 3,
      correlationId: 7,
      clientId: 'me',
    })
    expect(reader.remaining).toBe(1)
  })

  it('of a flexible request keep the old string, and pass over tags', () => {
    const reader = read('000c00040000000700026d65 01 05 02 aabb cc'.replaceAll(' ', ''))
    expect(readRequestHeader(heartbeat, 4, reader).clientId).toBe('me')
    expect(reader.remaining).toBe(1)
  })

  it('of a request may be without a client id', () => {
    expect(readRequestHeader(heartbeat, 0, read('000c000000000007ffff')).clientId).toBeNull()
    const header = { apiKey: 12, apiVersion: 4, correlationId: 7, clientId: null }
    expect(written(writer => writeRequestHeader(heartbeat, header, writer))).toBe('000c000400000007ffff00')
  })

  it('of a version of ApiVersions that does not exist yet are read as flexible', () => {
    const reader = read('0012 0063 00000007 ffff 00'.replaceAll(' ', ''))
    expect(readRequestHeader(apiVersions, 99, reader).correlationId).toBe(7)
    expect(reader.remaining).toBe(0)
  })

  it('of a response have tags in flexible versions, but never for ApiVersions', () => {
    for (const api of APIS) {
      for (let version = api.versions[0]; version <= api.versions[1]; version++) {
        const tags = api !== apiVersions && isFlexible(api, version)
        const hex = written(writer => writeResponseHeader(api, version, 7, writer))
        expect(hex, `${api.name} v${version}`).toBe(tags ? '0000000700' : '00000007')
        const reader = read(hex)
        expect(readResponseHeader(api, version, reader)).toEqual({ correlationId: 7 })
        expect(reader.remaining).toBe(0)
      }
    }
    expect(offsetDelete.flexible).toBeUndefined()
  })
})
