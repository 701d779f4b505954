// Batches with random bytes changed, with a checksum that is right again: whatever a client sends, the answer is a
// protocol error or an append, a refusal leaves the log as it was, and what was appended can be read, also after a restart.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { batchOf, makeLog, platform } from '../../test/support/log.ts'
import { KafkaError } from '../protocol/errors.ts'
import { batchSize, refreshCrc } from '../records/batch-header.ts'
import { concat } from '../util/byte-writer.ts'
import { utf8Encode } from '../util/utf8.ts'

const NOW = 1_700_000_000_000
const record = { key: utf8Encode('key'), value: utf8Encode('value'), headers: [{ key: 'h', value: utf8Encode('x') }] }
const seeds = (['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const).flatMap(codec => [
  batchOf([record, record, record], { codec }),
  batchOf([record], { codec, producerId: 5, producerEpoch: 1, baseSequence: 0 }),
  batchOf([record], { codec, producerId: 5, producerEpoch: 1, baseSequence: 0, isTransactional: true }),
])

const change = fc.record({
  at: fc.oneof(fc.integer({ min: 8, max: 75 }), fc.integer({ min: 0, max: 300 })),
  byte: fc.oneof(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.integer({ min: 0, max: 255 })),
})

it.each(['client', 'coordinator'] as const)('survives what a %s may send', origin => {
  let appended = 0
  let refused = 0
  fc.assert(
    fc.property(
      fc.constantFrom(...seeds),
      fc.array(change, { minLength: 1, maxLength: 3 }),
      fc.boolean(),
      fc.constantFrom('producer' as const, 'uncompressed' as const, 'gzip' as const),
      (seed, changes, validateRecords, compressionType) => {
        const { log, reopen } = makeLog({ validateRecords, compressionType, maxDecompressedBytes: 100_000 })
        const bytes = seed.slice()
        for (const { at, byte } of changes) if (at < bytes.length) bytes[at] = byte
        const size = batchSize(bytes, 0)
        if (size >= 61 && size <= bytes.length) refreshCrc(bytes, 0, platform.crc32c)
        try {
          log.appendAsLeader(bytes, { leaderEpoch: 3, now: NOW, origin })
          appended++
          const { parts } = log.read(0, { maxBytes: 1e9, minOneBatch: true, isolation: 'log_end' })
          expect(concat(parts).length).toBe(log.sizeInBytes)
          const again = reopen()
          expect([again.logEndOffset, again.sizeInBytes]).toEqual([log.logEndOffset, log.sizeInBytes])
          expect(again.producers()).toEqual(log.producers())
        } catch (error) {
          if (!(error instanceof KafkaError)) throw error
          refused++
          expect([log.logEndOffset, log.sizeInBytes, log.producers(), log.latestEpoch]).toEqual([0, 0, [], -1])
        }
      },
    ),
    { numRuns: 3000 },
  )
  expect(Math.min(appended, refused)).toBeGreaterThan(100)
})
