// What a leader's log does with the bytes of a Produce request, against what Apache Kafka's did: the same offsets, the same bytes stored,
// or the same error, message and refused records. Where we differ on purpose the case is named here, with the reason.

import { describe, expect, it } from 'vitest'
import { RecordsInvalidError } from '../../src/log/append-error.ts'
import { Log } from '../../src/log/log.ts'
import { DEFAULT_LOG_CONFIG, type LogConfig } from '../../src/log/log-config.ts'
import { nodeCompression } from '../../src/node/codecs.ts'
import { nodeCrc32c } from '../../src/node/crc32c.ts'
import type { KafkaError } from '../../src/protocol/errors.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { readBatchHeader } from '../../src/records/batch-header.ts'
import { readRecords } from '../../src/records/batch-reader.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { loadGolden } from './load.ts'

interface Line {
  name: string
  hex: string
  topicConfig?: Record<string, string>
  origin?: 'COORDINATOR'
  produce: {
    failure?: {
      stage: 'request' | 'append'
      exception: string
      error: string
      message: string
      recordErrors?: { batchIndex: number; message: string }[]
    }
    firstOffset?: number
    lastOffset?: number
    logAppendTime?: number
    stored?: string
    storedSize?: number
  }
}

/** The message is another one than Kafka's: there is no use in repeating the words of its internal exceptions. */
const OTHER_WORDS = 'our own words'

/** Where our answer is not Kafka's, by case: another code, or why else. */
const DIFFERENT: Record<string, { error?: string; reason: string }> = {
  'length-14': { reason: OTHER_WORDS },
  'v2-timestamps-int64-ends': { reason: 'int64 is a number: the time in the message is saturated' },
  'v2-base-offset-int64': { reason: 'int64 is a number: the base offset in the message is saturated' },
}

const EPOCH = 7
const NOW = 1_700_000_060_000
const platform = { crc32c: nodeCrc32c, compression: nodeCompression }
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

function configOf(texts: Record<string, string> = {}): LogConfig {
  const config: LogConfig = { ...DEFAULT_LOG_CONFIG }
  for (const [name, text] of Object.entries(texts)) {
    if (name === 'cleanup.policy') config.compact = text === 'compact'
    else if (name === 'message.timestamp.type') config.messageTimestampType = text as LogConfig['messageTimestampType']
    else if (name === 'message.timestamp.before.max.ms') config.messageTimestampBeforeMaxMs = Number(text)
    else if (name === 'max.message.bytes') config.maxMessageBytes = Number(text)
    else if (name === 'compression.type') config.compressionType = text as LogConfig['compressionType']
    else throw new Error(`topic config ${name} is not known to this test`)
  }
  return config
}

/** A partition whose log ends at offset 5, as the cases were made. */
function openLog(line: Line): Log {
  const env = new VirtualEnv({ now: NOW })
  const storage = new MemoryStorage({ turns: env.turns })
  const log = Log.open({ storage, directory: 't-0', config: DEFAULT_LOG_CONFIG, env, platform })
  const records = Array.from({ length: 5 }, () => ({ key: Uint8Array.of(1), value: Uint8Array.of(2), timestamp: NOW }))
  log.appendAsLeader(buildBatch({ records }), { leaderEpoch: EPOCH, now: NOW, origin: 'client' })
  log.updateConfig(configOf(line.topicConfig))
  return log
}

function append(log: Log, line: Line) {
  const origin = line.origin === 'COORDINATOR' ? 'coordinator' : 'client'
  const bytes = Uint8Array.from(Buffer.from(line.hex, 'hex'))
  return log.appendAsLeader(bytes, { leaderEpoch: EPOCH, now: NOW, origin, produceVersion: 13 })
}

function storedBytes(log: Log): Uint8Array {
  return concat(log.read(5, { maxBytes: 1e9, minOneBatch: true, isolation: 'log_end' }).parts)
}

/** The stored bytes of Kafka came out of its compressor: the records and the header must be the same. */
function content(bytes: Uint8Array) {
  const { sizeInBytes, crc, ...header } = readBatchHeader(bytes)
  return { header, records: readRecords(bytes, 0, platform) }
}

const lines = loadGolden<Line>('record-batches')

describe('produce, as a Kafka leader answers', () => {
  it('has cases, and every exception names one', () => {
    expect(lines.length).toBeGreaterThan(250)
    const names = new Set(lines.map(line => line.name))
    for (const name of Object.keys(DIFFERENT)) expect(names).toContain(name)
  })

  it.each(lines.filter(line => !line.produce.failure))('appends $name', line => {
    const { produce } = line
    const log = openLog(line)
    const result = append(log, line)
    expect(result).toMatchObject({
      firstOffset: produce.firstOffset,
      lastOffset: produce.lastOffset,
      logAppendTime: produce.logAppendTime,
      duplicate: false,
    })
    expect(log.logEndOffset).toBe((produce.lastOffset as number) + 1)
    const stored = storedBytes(log)
    const recompressed = (line.topicConfig?.['compression.type'] ?? 'uncompressed') !== 'uncompressed'
    if (recompressed) {
      expect(content(stored)).toEqual(content(Uint8Array.from(Buffer.from(produce.stored as string, 'hex'))))
    } else if (produce.stored === 'same') expect(hex(stored)).toBe(line.hex)
    else if (produce.stored !== undefined) expect(hex(stored)).toBe(produce.stored)
    else expect(stored.length).toBe(produce.storedSize)
  })

  it.each(lines.filter(line => line.produce.failure))('refuses $name', line => {
    const failure = line.produce.failure as NonNullable<Line['produce']['failure']>
    const different = DIFFERENT[line.name]
    const log = openLog(line)
    const thrown = thrownBy(() => append(log, line))
    expect(thrown.error).toBe(different?.error ?? failure.error)
    expect(log.logEndOffset).toBe(5)
    expect(log.read(5, { maxBytes: 1e9, minOneBatch: true, isolation: 'log_end' }).sizeInBytes).toBe(0)
    if (failure.recordErrors) {
      expect(thrown).toBeInstanceOf(RecordsInvalidError)
      const { recordErrors } = thrown as RecordsInvalidError
      if (different)
        expect(recordErrors.map(each => each.batchIndex)).toEqual(failure.recordErrors.map(each => each.batchIndex))
      else expect(recordErrors).toEqual(failure.recordErrors)
    } else expect(thrown).not.toBeInstanceOf(RecordsInvalidError)
    if (reachesClients(failure) && !different) expect(thrown.message).toBe(failure.message)
  })
})

/** Only the message of refused records is part of an answer; others stay in the broker's log, and may be our own. */
function reachesClients(failure: NonNullable<Line['produce']['failure']>): boolean {
  return failure.exception === 'RecordValidationException'
}

function thrownBy(run: () => unknown): KafkaError {
  try {
    run()
  } catch (error) {
    return error as KafkaError
  }
  throw new Error('nothing was thrown')
}
