// Cleaning against a model of plain arrays: whatever was written, by whom and in which transactions, and whenever the cleaner came, a
// reader of committed records sees the last value of each key where it was written, and nothing else that is not newer.

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { append, batchOf, makeLog, platform } from '../../../test/support/log.ts'
import { readFetched } from '../../client/fetched-records.ts'
import type { RecordInput } from '../../records/batch-builder.ts'
import type { CodecName } from '../../records/compression.ts'
import { buildEndTransactionMarker } from '../../records/control.ts'
import { concat } from '../../util/byte-writer.ts'
import { utf8Decode, utf8Encode } from '../../util/utf8.ts'
import type { Log } from '../log.ts'
import { LogCleaner } from './log-cleaner.ts'

const BACKOFF_MS = 1000
const TOMBSTONE_MS = 3_600_000
const CODECS: CodecName[] = ['none', 'none', 'gzip', 'snappy', 'lz4', 'zstd']

interface Written {
  offset: number
  key: string
  value: string | null
  /** Of a transaction that is not decided yet. */
  fate: 'committed' | 'aborted' | 'open'
  producer?: number
}

interface Producer {
  sequence: number
  isOpen: boolean
  last?: { sequence: number; count: number; bytes: () => Uint8Array; offset: number }
}

type Keys = (string | null)[]
type Step =
  | { do: 'append'; keys: Keys; codec: number }
  | { do: 'send'; producer: number; keys: Keys; codec: number }
  | { do: 'end'; producer: number; commit: boolean }
  | { do: 'resend'; producer: number }
  | { do: 'roll' | 'clean' | 'reopen' }

class Run {
  readonly #fixture = makeLog({
    compact: true,
    delete: false,
    minCleanableRatio: 0,
    deleteRetentionMs: TOMBSTONE_MS,
    segmentBytes: 1500,
    indexIntervalBytes: 100,
    fileDeleteDelayMs: 0,
  })
  readonly #written: Written[] = []
  readonly #producers = new Map<number, Producer>()
  readonly #cleaner: LogCleaner
  #log = this.#fixture.log
  #value = 0

  constructor() {
    const { env, storage } = this.#fixture
    this.#cleaner = new LogCleaner({
      env,
      storage,
      config: () => ({
        isEnabled: true,
        backoffMs: BACKOFF_MS,
        dedupeBufferSize: 100_000,
        loadFactor: 0.9,
        maxBytesPerSecond: Number.MAX_SAFE_INTEGER,
      }),
      logs: () => [this.#log.cleanable],
      applyRetention: () => {},
    })
    this.#cleaner.wake()
  }

  take(step: Step): void {
    if (step.do === 'append') this.#append(step.keys, CODECS[step.codec])
    else if (step.do === 'send') this.#send(step.producer, step.keys, CODECS[step.codec])
    else if (step.do === 'end') this.#end(step.producer, step.commit)
    else if (step.do === 'resend') this.#resend(step.producer)
    else if (step.do === 'roll') this.#log.roll()
    else if (step.do === 'clean') this.#clean()
    else this.#reopen()
    this.check()
  }

  #records(keys: Keys): { inputs: RecordInput[]; texts: [string, string | null][] } {
    const texts = keys.map(key => (key === null ? ['a', null] : [key, `v${this.#value++}`]) as [string, string | null])
    const timestamp = this.#fixture.env.now()
    const inputs = texts.map(([key, value]) => ({
      key: utf8Encode(key),
      value: value === null ? null : utf8Encode(value),
      timestamp,
    }))
    return { inputs, texts }
  }

  #note(firstOffset: number, texts: [string, string | null][], fate: Written['fate'], producer?: number): void {
    for (const [index, [key, value]] of texts.entries()) {
      this.#written.push({ offset: firstOffset + index, key, value, fate, producer })
    }
  }

  #append(keys: Keys, codec: CodecName): void {
    const { inputs, texts } = this.#records(keys)
    const { firstOffset } = append(this.#log, batchOf(inputs, { codec }), { now: this.#fixture.env.now() })
    this.#note(firstOffset, texts, 'committed')
  }

  /** Producers of odd numbers are transactional. */
  #send(producerId: number, keys: Keys, codec: CodecName): void {
    const producer = this.#producerOf(producerId)
    const isTransactional = producerId % 2 === 1
    const { inputs, texts } = this.#records(keys)
    const { sequence } = producer
    const bytes = () =>
      batchOf(inputs, { codec, producerId, producerEpoch: 0, baseSequence: sequence, isTransactional })
    const { firstOffset } = append(this.#log, bytes(), { now: this.#fixture.env.now() })
    this.#note(firstOffset, texts, isTransactional ? 'open' : 'committed', producerId)
    producer.sequence += keys.length
    producer.isOpen = isTransactional
    producer.last = { sequence, count: keys.length, bytes, offset: firstOffset }
  }

  #producerOf(id: number): Producer {
    let producer = this.#producers.get(id)
    if (producer === undefined) this.#producers.set(id, (producer = { sequence: 0, isOpen: false }))
    return producer
  }

  #end(producerId: number, commit: boolean): void {
    const producer = this.#producers.get(producerId)
    if (!producer?.isOpen) return
    producer.isOpen = false
    const now = this.#fixture.env.now()
    const type = commit ? 'COMMIT' : 'ABORT'
    const marker = buildEndTransactionMarker({
      type,
      coordinatorEpoch: 0,
      producerId,
      producerEpoch: 0,
      timestamp: now,
    })
    this.#log.appendAsLeader(marker, { leaderEpoch: 0, now, origin: 'coordinator' })
    this.#log.updateHighWatermark(this.#log.logEndOffset)
    for (const each of this.#written) {
      if (each.producer === producerId && each.fate === 'open') each.fate = commit ? 'committed' : 'aborted'
    }
  }

  /** The last batch of a producer once more: it is known, however much of it was cleaned away. */
  #resend(producerId: number): void {
    const last = this.#producers.get(producerId)?.last
    if (last === undefined) return
    const { logEndOffset } = this.#log
    const result = append(this.#log, last.bytes(), { now: this.#fixture.env.now() })
    expect(result).toMatchObject({ duplicate: true, firstOffset: last.offset })
    expect(this.#log.logEndOffset).toBe(logEndOffset)
  }

  /** Exactly the last record of each key is left of the segments that may be cleaned. */
  #clean(): void {
    const { env } = this.#fixture
    this.#cleaner.wake()
    env.advance(BACKOFF_MS + 100)
    const until = cleanableEnd(this.#log)
    const committed = this.#written.filter(({ fate }) => fate === 'committed')
    const last = new Map(committed.filter(({ offset }) => offset < until).map(each => [each.key, each.offset]))
    const left = committed.filter(
      ({ offset, key }) => (offset >= until && offset < this.#log.lastStableOffset) || last.get(key) === offset,
    )
    expect(this.#read()).toEqual(left.map(({ offset, key, value }) => ({ offset, key, value })))
  }

  /** Producers are known by what the log still says of them. */
  #reopen(): void {
    const { env, reopen, storage } = this.#fixture
    this.#log.close()
    for (const name of storage.list('t-0')) if (name.endsWith('.snapshot')) storage.remove(`t-0/${name}`)
    env.settle()
    this.#log = reopen({ highWatermark: this.#log.logEndOffset })
  }

  /** What a reader of committed records gets. */
  #read(): { offset: number; key: string; value: string | null }[] {
    const found: { offset: number; key: string; value: string | null }[] = []
    for (let offset = 0; ; ) {
      const { parts, abortedTransactions } = this.#log.read(offset, {
        maxBytes: 500,
        minOneBatch: true,
        isolation: 'last_stable',
      })
      if (parts.length === 0) return found
      const fetched = readFetched(
        concat(parts),
        { from: offset, highWatermark: this.#log.highWatermark },
        abortedTransactions,
        platform,
      )
      expect(fetched.error).toBeUndefined()
      for (const { offset, key, value } of fetched.records) {
        found.push({ offset, key: utf8Decode(key!), value: value === null ? null : utf8Decode(value) })
      }
      offset = fetched.nextOffset
    }
  }

  check(): void {
    const log = this.#log
    const stable = this.#written.filter(({ fate, offset }) => fate === 'committed' && offset < log.lastStableOffset)
    const byOffset = new Map(stable.map(each => [each.offset, each]))
    const seen = this.#read()
    for (const { offset, key, value } of seen) expect(byOffset.get(offset)).toMatchObject({ key, value })
    for (let index = 1; index < seen.length; index++) expect(seen[index].offset).toBeGreaterThan(seen[index - 1].offset)
    const view = (records: readonly { key: string; value: string | null }[]) =>
      new Map(records.map(({ key, value }) => [key, value]))
    expect(view(seen)).toEqual(view(stable))
  }

  stop(): void {
    this.#cleaner.stop()
  }
}

/** Where the segments end that may be cleaned: the active one, or that of the last stable offset. */
function cleanableEnd(log: Log): number {
  const { segments } = log.cleanable
  return segments.at(Math.min(segments.floor(log.lastStableOffset), segments.count - 1)).baseOffset
}

const keys = fc.array(fc.constantFrom('a', 'b', 'c', 'd', null), { minLength: 1, maxLength: 4 })
const codec = fc.nat(CODECS.length - 1)
const producer = fc.nat(3)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('append' as const), keys, codec }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('send' as const), producer, keys, codec }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('end' as const), producer, commit: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('resend' as const), producer }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('roll' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('clean' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const) }) },
)

it('leaves the last committed record of each key, whatever was written', { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60, size: '+1' }), steps => {
      const run = new Run()
      for (const each of steps) run.take(each)
      run.stop()
    }),
    { numRuns: Number(process.env.PROPERTY_RUNS ?? 100) },
  )
})
