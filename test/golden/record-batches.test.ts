// Record batches that Apache Kafka's own classes wrote, and broken ones with what its reader said about them. We must read the
// former to the same fields and records, fail on the latter at the same stage, and build the plain ones byte for byte.

import { describe, expect, it } from 'vitest'
import { nodeCrc32c } from '../../src/node/crc32c.ts'
import { nodeRecordsPlatform as platform } from '../../src/node/records-platform.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import {
  type BatchHeader,
  batchMagic,
  checkBatch,
  eachBatch,
  LOG_APPEND_TIME_BIT,
  readBatchHeader,
} from '../../src/records/batch-header.ts'
import { eachRecord, type RecordData, readRecords, recordCursor } from '../../src/records/batch-reader.ts'
import { codecName } from '../../src/records/compression.ts'
import { buildEndTransactionMarker, controlType, readEndTransactionMarker } from '../../src/records/control.ts'
import { RecordsError } from '../../src/records/records-error.ts'
import { loadGolden } from './load.ts'

/** A number, or its decimal text where it is beyond ±(2^53 − 1). */
type GoldenInt = number | string
type GoldenBytes = string | null | { repeat: string; length: number }

interface GoldenRecord {
  offset: GoldenInt
  timestamp: GoldenInt
  sequence?: number
  key: GoldenBytes
  value: GoldenBytes
  headers: { key: string; value: GoldenBytes }[]
  controlType?: string
  coordinatorEpoch?: number
}

interface GoldenBatch {
  magic: number
  baseOffset: GoldenInt
  lastOffset: GoldenInt
  sizeInBytes: number
  baseTimestamp: GoldenInt
  maxTimestamp: GoldenInt
  producerId: GoldenInt
  recordCount: number
  transactional: boolean
  control: boolean
  deleteHorizonMs?: number
  compression?: string
  records?: GoldenRecord[]
  [same: string]: unknown
}

interface GoldenLine {
  name: string
  valid: boolean
  hex: string
  batches: GoldenBatch[]
  trailingBytes?: number
  failure?: { stage: 'batches' | 'header' | 'ensureValid' | 'records'; error: string }
}

const lines = loadGolden<GoldenLine>('record-batches').map(line => ({ ...line, bytes: bytesOf(line.hex)! }))

function bytesOf(golden: GoldenBytes): Uint8Array | null {
  if (golden === null) return null
  if (typeof golden === 'string') return new Uint8Array(Buffer.from(golden, 'hex'))
  const period = bytesOf(golden.repeat)!
  return Uint8Array.from({ length: golden.length }, (_, index) => period[index % period.length])
}

/** What a JavaScript number holds of it: saturated. */
function int(golden: GoldenInt): number {
  const value = Number(golden)
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, value))
}

function headerOf(golden: GoldenBatch): Partial<BatchHeader> {
  const { crc, partitionLeaderEpoch, attributes, lastOffsetDelta, producerEpoch, baseSequence, lastSequence } =
    golden as unknown as BatchHeader
  return {
    ...{ crc, partitionLeaderEpoch, attributes, lastOffsetDelta, producerEpoch, baseSequence, lastSequence },
    magic: golden.magic,
    baseOffset: int(golden.baseOffset),
    lastOffset: int(golden.lastOffset),
    sizeInBytes: golden.sizeInBytes,
    baseTimestamp: int(golden.baseTimestamp),
    maxTimestamp: int(golden.maxTimestamp),
    producerId: int(golden.producerId),
    recordsCount: golden.recordCount,
    isTransactional: golden.transactional,
    isControl: golden.control,
    hasDeleteHorizon: golden.deleteHorizonMs !== undefined,
    timestampType: golden['timestampType'] as BatchHeader['timestampType'],
  }
}

/** A record with its bytes in hex, which compares faster. */
interface PlainRecord {
  offset: number
  timestamp: number
  sequence: number
  key: string | null
  value: string | null
  headers: [string, string | null][]
}

function hex(bytes: Uint8Array | null): string | null {
  return bytes && Buffer.from(bytes).toString('hex')
}

function plain({ offset, timestamp, sequence, key, value, headers }: RecordData): PlainRecord {
  const plainHeaders = headers.map(header => [header.key, hex(header.value)] as [string, string | null])
  return { offset, timestamp, sequence, key: hex(key), value: hex(value), headers: plainHeaders }
}

/** Kafka's reader shows a sequence only where there is a producer id. */
function recordOf(golden: GoldenRecord, header: BatchHeader): PlainRecord {
  return {
    offset: int(golden.offset),
    timestamp: int(golden.timestamp),
    sequence: golden.sequence ?? (expect.any(Number) as unknown as number),
    key: hex(bytesOf(golden.key)),
    value: hex(bytesOf(golden.value)),
    headers: golden.headers.map(({ key, value }) => [key, hex(bytesOf(value))]),
    ...(header.baseSequence < 0 ? { sequence: -1 } : {}),
  }
}

function errorOf(act: () => void): string | undefined {
  try {
    act()
    return undefined
  } catch (error) {
    if (error instanceof RecordsError) return error.error
    throw error
  }
}

/** Positions of the batches, where the last one ends, and the error that splitting ended with. */
function split(bytes: Uint8Array): { positions: number[]; end: number; error: string | undefined } {
  const positions: number[] = []
  let end = 0
  const error = errorOf(() => {
    end = eachBatch(bytes, at => positions.push(at))
  })
  return { positions, end, error }
}

/** Where and how reading the batch at `at` fails. */
function failureAt(bytes: Uint8Array, at: number): { stage: string; error: string } | undefined {
  const stages: [string, () => void][] = [
    ['header', () => expect(readBatchHeader(bytes, at).magic).toBe(2)],
    ['ensureValid', () => checkBatch(bytes, at, nodeCrc32c)],
    ['records', () => readRecords(bytes, at, platform)],
  ]
  for (const [stage, act] of stages) {
    const error = errorOf(act)
    if (error !== undefined) return { stage, error }
  }
  return undefined
}

describe('every sequence of batches', () => {
  it.each(lines)('$name is split as Kafka splits it', ({ bytes, batches, failure, trailingBytes }) => {
    const { positions, end, error } = split(bytes)
    expect(positions.length, 'number of batches').toBe(batches.length)
    expect(positions.map(at => batchMagic(bytes, at))).toEqual(batches.map(batch => batch.magic))
    // Kafka's reader stopped earlier at any other failure, so it does not say how splitting would have gone on.
    if (failure && failure.stage !== 'batches') return
    expect(error).toBe(failure?.error)
    if (!failure) expect(bytes.length - end).toBe(trailingBytes ?? 0)
  })
})

describe('every readable batch', () => {
  const readable = lines.flatMap(({ name, bytes, batches, failure }) => {
    const { positions } = split(bytes)
    return batches
      .map((golden, index) => ({ name: `${name} [${index}]`, bytes, golden, at: positions[index], failure }))
      .filter(({ golden }) => golden.magic === 2 && (!failure || failure.stage === 'batches'))
  })

  it('is one of many', () => {
    expect(readable.length).toBeGreaterThan(150)
  })

  it.each(readable)('$name has the header fields, the checksum and the records that Kafka sees', line => {
    const { bytes, golden, at } = line
    const header = readBatchHeader(bytes, at)
    expect(header).toMatchObject(headerOf(golden))
    expect(codecName(header.codec)).toBe(golden.compression)
    checkBatch(bytes, at, nodeCrc32c)
    const records = readRecords(bytes, at, platform).map(plain)
    expect(records).toEqual(golden.records!.map(record => recordOf(record, header)))
  })

  it('that is a control batch says which kind', () => {
    const controls = readable.filter(({ golden }) => golden.control && golden.records!.length > 0)
    expect(controls.length).toBeGreaterThan(8)
    for (const { bytes, golden, at } of controls) {
      const [{ key, value }] = readRecords(bytes, at, platform)
      const [expected] = golden.records!
      expect(controlType(key)).toBe(expected.controlType)
      expect(readEndTransactionMarker(key, value)?.coordinatorEpoch).toBe(expected.coordinatorEpoch)
    }
  })
})

describe('every broken batch', () => {
  const broken = lines.flatMap(line =>
    line.failure && line.failure.stage !== 'batches' && line.batches.at(-1)!.magic === 2
      ? [{ ...line, failure: line.failure }]
      : [],
  )

  // Kafka runs off its buffer when a batch is shorter than a header, and gives up on a compressed batch in the middle,
  // having seen a record that makes no sense; we look at the length first, and at compressed bytes as a whole.
  const otherErrors: Record<string, string> = {
    'length-14': 'CORRUPT_MESSAGE',
    'length-48': 'CORRUPT_MESSAGE',
    'compressed-gzip-bit-flipped': 'UNKNOWN_SERVER_ERROR',
  }
  // An unknown codec is a number in our header, and an error when records are asked for.
  const otherStages: Record<string, string> = {
    'compression-id-5': 'records',
    'compression-id-6': 'records',
    'compression-id-7': 'records',
  }

  it('is one of many', () => {
    expect(broken.length).toBeGreaterThan(50)
  })

  it.each(broken)('$name fails where Kafka fails: $failure.stage $failure.error', ({ name, bytes, failure }) => {
    const at = split(bytes).positions.at(-1)!
    expect(failureAt(bytes, at)).toEqual({
      stage: otherStages[name] ?? failure.stage,
      error: otherErrors[name] ?? failure.error,
    })
  })

  it.each(broken.filter(({ batches }) => batches.at(-1)!.compression === 'none' && batches.at(-1)!.records))(
    '$name shows the records before the broken one',
    ({ bytes, batches }) => {
      const at = split(bytes).positions.at(-1)!
      const header = readBatchHeader(bytes, at)
      const seen: PlainRecord[] = []
      errorOf(() => {
        for (const record of eachRecord(bytes, at, platform)) seen.push(plain(record))
      })
      expect(seen).toEqual(batches.at(-1)!.records!.map(record => recordOf(record, header)))
    },
  )
})

describe('message sets of version 0 and 1', () => {
  const old = lines.flatMap(({ name, bytes }) =>
    split(bytes)
      .positions.filter(at => batchMagic(bytes, at) < 2)
      .map(at => ({ name, bytes, at })),
  )

  it('are refused by their magic', () => {
    expect(old.length).toBeGreaterThan(30)
    for (const { bytes, at } of old) {
      const refused = { stage: 'header', error: 'INVALID_RECORD' }
      expect(failureAt(bytes, at)).toEqual(refused)
      expect(errorOf(() => checkBatch(bytes, at, nodeCrc32c))).toBe('INVALID_RECORD')
      expect(errorOf(() => readRecords(bytes, at, platform))).toBe('INVALID_RECORD')
    }
  })
})

describe('the builder', () => {
  // Kafka's builder would not write these either: they were made by changing bytes, or by compaction, which keeps the maximum
  // timestamp of a batch that it has emptied; and one holds a timestamp that no JavaScript number does.
  const notPlain = [
    'v2-timestamps-int64-ends',
    'v2-base-offset-int64',
    'v2-compacted-empty-batch',
    'v2-compacted-empty-batch-plain',
    'v2-compacted-empty-batch-transactional',
    'v2-delete-horizon-empty-batch',
    'v2-unknown-attribute-bits',
    'v2-record-attributes-set',
    'v2-non-minimal-varint',
    'v2-first-timestamp-delta-not-zero',
    'v2-max-timestamp-wrong',
  ]
  const uncompressed = lines.filter(
    ({ valid, batches }) =>
      valid && batches.length === 1 && batches[0].magic === 2 && batches[0].compression === 'none',
  )

  function rebuild(bytes: Uint8Array): Uint8Array {
    const header = readBatchHeader(bytes)
    const cursor = recordCursor(bytes, 0, platform)
    const records = readRecords(bytes, 0, platform).map(record => {
      cursor.next()
      // Not the timestamp that a reader sees: with log append time that is the batch's.
      const timestamp = header.baseTimestamp + cursor.timestampDelta
      return { ...record, timestamp, offsetDelta: cursor.offsetDelta }
    })
    return buildBatch({
      ...header,
      records,
      crc32c: nodeCrc32c,
      logAppendTime: header.attributes & LOG_APPEND_TIME_BIT ? header.maxTimestamp : undefined,
      deleteHorizonMs: header.hasDeleteHorizon ? header.baseTimestamp : undefined,
      codec: undefined,
    })
  }

  it('has much to build', () => {
    expect(uncompressed.length - notPlain.length).toBeGreaterThan(40)
    expect(uncompressed.map(line => line.name)).toEqual(expect.arrayContaining(notPlain))
  })

  it.each(uncompressed.filter(({ name }) => !notPlain.includes(name)))('builds $name byte for byte', ({ bytes }) => {
    expect(hex(rebuild(bytes))).toBe(hex(bytes))
  })

  it.each(['v2-control-commit', 'v2-control-abort'])('ends a transaction as Kafka does: %s', wanted => {
    const { bytes } = lines.find(({ name }) => name === wanted)!
    const [{ key, value, timestamp }] = readRecords(bytes, 0, platform)
    const marker = readEndTransactionMarker(key, value)!
    expect(marker.type).toBe(wanted === 'v2-control-commit' ? 'COMMIT' : 'ABORT')
    expect(hex(buildEndTransactionMarker({ ...readBatchHeader(bytes), ...marker, timestamp }))).toBe(hex(bytes))
  })
})
