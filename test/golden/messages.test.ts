// Every message, version and case that Kafka's own classes wrote, decoded and encoded by our schemas. The data holds
// only the messages that there is a schema for; that it holds all of their versions is tested too.

import { describe, expect, it } from 'vitest'
import { APIS } from '../../src/protocol/apis/index.ts'
import { decodeVersioned, encodeVersioned, readStruct, writeStruct } from '../../src/protocol/codec.ts'
import type { Fields, Message, Struct } from '../../src/protocol/dsl.ts'
import {
  consumerProtocolAssignment,
  consumerProtocolSubscription,
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from '../../src/protocol/embedded/consumer-protocol.ts'
import {
  controlRecordKey,
  decodeEndTxnMarker,
  encodeEndTxnMarker,
  endTxnMarker,
} from '../../src/protocol/embedded/control-records.ts'
import {
  decodeGroupRecord,
  type EncodableGroupRecord,
  encodeGroupRecord,
  groupMetadataKey,
  groupMetadataValue,
  offsetCommitKey,
  offsetCommitValue,
} from '../../src/protocol/embedded/group-records.ts'
import { requestHeader, responseHeader } from '../../src/protocol/header.ts'
import { ByteError, ByteReader } from '../../src/util/byte-reader.ts'
import { ByteWriter } from '../../src/util/byte-writer.ts'
import { expectedValue, isWide, type Json, valueToEncode } from './golden-json.ts'
import { loadGolden } from './load.ts'

interface Line {
  message: string
  version: number
  case: string
  apiKey?: number
  headerVersion?: number
  flexible: boolean
  prefix?: string
  json: Json
  hex: string
}

interface Schema {
  body: Struct<Fields>
  versions: readonly [min: number, max: number]
  flexible: number | undefined
}

const EMBEDDED: Record<string, Message> = {
  ConsumerProtocolSubscription: consumerProtocolSubscription,
  ConsumerProtocolAssignment: consumerProtocolAssignment,
  OffsetCommitKey: offsetCommitKey,
  OffsetCommitValue: offsetCommitValue,
  LegacyOffsetCommitKey: offsetCommitKey,
  LegacyOffsetCommitValue: { ...offsetCommitValue, versions: [0, 0] },
  GroupMetadataKey: groupMetadataKey,
  GroupMetadataValue: groupMetadataValue,
  ControlRecordTypeSchema: controlRecordKey,
  EndTxnMarker: endTxnMarker,
}

const SCHEMAS: ReadonlyMap<string, Schema> = new Map<string, Schema>([
  ['RequestHeader', { body: requestHeader, versions: [1, 2], flexible: 2 }],
  ['ResponseHeader', { body: responseHeader, versions: [0, 1], flexible: 1 }],
  ...Object.entries(EMBEDDED),
  ...APIS.flatMap(api => [
    [`${api.name}Request`, { body: api.request, versions: api.versions, flexible: api.flexible }] as const,
    [`${api.name}Response`, { body: api.response, versions: api.versions, flexible: api.flexible }] as const,
  ]),
])

const LINES = loadGolden<Line>('messages').map(line => (line.message === 'RequestHeader' ? renameKeys(line) : line))
const BY_MESSAGE = new Map([...new Set(LINES.map(line => line.message))].map(name => [name, linesOf(name)]))

/** Our header fields have shorter names. */
function renameKeys(line: Line): Line {
  const { requestApiKey, requestApiVersion, ...json } = line.json as Record<string, Json>
  return { ...line, json: { apiKey: requestApiKey, apiVersion: requestApiVersion, ...json } }
}

function linesOf(name: string): Line[] {
  return LINES.filter(line => line.message === name)
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'))
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function label(line: Line): string {
  return `${line.message} v${line.version} ${line.case}`
}

function schemaOf(line: Line): Schema {
  return SCHEMAS.get(line.message) as Schema
}

function encode(line: Line): string {
  const { body } = schemaOf(line)
  const writer = new ByteWriter()
  writeStruct(body, line.version, line.flexible, writer, valueToEncode(body.spec.fields, line.version, line.json))
  return hexOf(writer.finish())
}

describe('golden messages', () => {
  it('has every message in every version, and nothing that there is no schema for', () => {
    expect([...BY_MESSAGE.keys()].sort()).toEqual([...SCHEMAS.keys()].sort())
    for (const [name, { versions }] of SCHEMAS) {
      const filled = (BY_MESSAGE.get(name) as Line[]).filter(line => line.case === 'filled')
      const all = Array.from({ length: versions[1] - versions[0] + 1 }, (_, index) => versions[0] + index)
      expect([...new Set(filled.map(line => line.version))], name).toEqual(all)
    }
  })

  it('agrees on API keys and on which versions are flexible', () => {
    for (const line of LINES) {
      const { flexible } = schemaOf(line)
      expect(line.flexible, label(line)).toBe(flexible !== undefined && line.version >= flexible)
      const api = APIS.find(({ name }) => line.message === `${name}Request` || line.message === `${name}Response`)
      expect(line.apiKey, label(line)).toBe(api?.key)
    }
  })

  describe.each([...BY_MESSAGE.keys()])('%s', name => {
    const lines = BY_MESSAGE.get(name) as Line[]
    const { body } = SCHEMAS.get(name) as Schema
    const { fields } = body.spec

    it('decodes, with no byte left', () => {
      for (const line of lines) {
        const reader = new ByteReader(bytesOf(line.hex))
        const value = readStruct(body, line.version, line.flexible, reader)
        expect(value, label(line)).toEqual(expectedValue(fields, line.version, line.json))
        expect(reader.remaining, label(line)).toBe(0)
      }
    })

    it('encodes to the same bytes, and refuses what does not fit into a number', () => {
      for (const line of lines.filter(line => line.case !== 'unknownTag')) {
        if (isWide(fields, line.version, line.json)) expect(() => encode(line), label(line)).toThrow(/out of range/)
        else expect(encode(line), label(line)).toBe(line.hex)
      }
    })

    it('encodes again what it decoded', () => {
      for (const line of lines.filter(line => line.case !== 'unknownTag' && line.case !== 'wide')) {
        const value = readStruct(body, line.version, line.flexible, new ByteReader(bytesOf(line.hex)))
        const writer = new ByteWriter()
        writeStruct(body, line.version, line.flexible, writer, value)
        expect(hexOf(writer.finish()), label(line)).toBe(line.hex)
      }
    })

    it('refuses bytes cut short, wherever they are cut', () => {
      for (const line of lines) {
        const bytes = bytesOf(line.hex)
        const step = Math.ceil(bytes.length / 200)
        for (let end = 0; end < bytes.length; end += step) {
          const reader = new ByteReader(bytes, 0, end)
          expect(() => readStruct(body, line.version, line.flexible, reader), `${label(line)} to ${end}`).toThrow(
            ByteError,
          )
        }
      }
    })
  })
})

describe('golden blobs with their prefix', () => {
  const lines = LINES.filter(line => line.prefix !== undefined && line.case !== 'unknownTag' && line.case !== 'wide')
  const of = (name: string) => lines.filter(line => line.message === name)
  const whole = (line: Line) => bytesOf(`${line.prefix}${line.hex}`)

  it.each(Object.keys(EMBEDDED).filter(name => !name.endsWith('Key')))('%s: the version stands in front', name => {
    const definition = EMBEDDED[name]
    for (const line of of(name)) {
      const { fields } = definition.body.spec
      expect(decodeVersioned(definition, whole(line))).toEqual(expectedValue(fields, line.version, line.json))
      const bytes = encodeVersioned(definition, line.version, valueToEncode(fields, line.version, line.json))
      expect(hexOf(bytes), label(line)).toBe(`${line.prefix}${line.hex}`)
    }
  })

  it('subscriptions and assignments', () => {
    for (const line of of('ConsumerProtocolSubscription')) {
      expect(hexOf(encodeSubscription(decodeSubscription(whole(line)), line.version))).toBe(hexOf(whole(line)))
    }
    for (const line of of('ConsumerProtocolAssignment')) {
      expect(hexOf(encodeAssignment(decodeAssignment(whole(line)), line.version))).toBe(hexOf(whole(line)))
    }
  })

  it.each([
    ['OffsetCommit', 'offsetCommit'],
    ['GroupMetadata', 'groupMetadata'],
  ])('group records: %s', (name, type) => {
    for (const line of of(`${name}Key`)) {
      const record = decodeGroupRecord(whole(line), null)
      expect(record).toEqual({ type, key: line.json, value: null })
      expect(hexOf(encodeGroupRecord(record as EncodableGroupRecord).key)).toBe(hexOf(whole(line)))
    }
    const key = whole(of(`${name}Key`)[0])
    for (const line of of(`${name}Value`)) {
      const { fields } = schemaOf(line).body.spec
      expect(decodeGroupRecord(key, whole(line))).toMatchObject({
        type,
        value: expectedValue(fields, line.version, line.json),
      })
    }
  })

  it('group records: offsets under the oldest record type', () => {
    const [key] = of('LegacyOffsetCommitKey')
    const [value] = of('LegacyOffsetCommitValue')
    expect(decodeGroupRecord(whole(key), whole(value))).toMatchObject({
      type: 'offsetCommit',
      key: key.json,
      value: value.json,
    })
  })

  it('the marker that ends a transaction', () => {
    for (const line of LINES.filter(line => line.message === 'EndTxnMarker')) {
      const bytes = bytesOf(`0000${line.hex}`)
      expect(decodeEndTxnMarker(bytes)).toEqual(line.json)
      const { coordinatorEpoch } = line.json as { coordinatorEpoch: number }
      expect(encodeEndTxnMarker(coordinatorEpoch)).toEqual(bytes)
    }
  })
})
