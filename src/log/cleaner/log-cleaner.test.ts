import { describe, expect, it } from 'vitest'
import { append, batchOf, makeLog, platform } from '../../../test/support/log.ts'
import type { RecordInput } from '../../records/batch-builder.ts'
import { batchLastOffset, eachBatch, readBatchHeader } from '../../records/batch-header.ts'
import { readRecords } from '../../records/batch-reader.ts'
import { buildEndTransactionMarker } from '../../records/control.ts'
import { MemoryStorage } from '../../storage/memory-storage.ts'
import { StorageError } from '../../storage/storage.ts'
import { concat } from '../../util/byte-writer.ts'
import { utf8Decode, utf8Encode } from '../../util/utf8.ts'
import { VirtualEnv } from '../../util/virtual-env.ts'
import { Log } from '../log.ts'
import { DEFAULT_LOG_CONFIG, type LogConfig } from '../log-config.ts'
import { type CleanerConfig, LogCleaner } from './log-cleaner.ts'

const T = 1_700_000_000_000
const BACKOFF_MS = 15_000
const HOUR_MS = 60 * 60 * 1000

/** Logs of one broker and its cleaner. */
function makeCleaner(config: Partial<LogConfig> = {}, cleaner: Partial<CleanerConfig> = {}, env = new VirtualEnv()) {
  const fixture = makeLog({ compact: true, delete: false, minCleanableRatio: 0, ...config }, { env })
  const { storage, log } = fixture
  const logs: Log[] = [log]
  const cleaners: LogCleaner[] = []
  const startCleaner = (logs_: () => Log[] = () => logs) => {
    const made = new LogCleaner({
      env,
      storage,
      config: () => ({
        isEnabled: true,
        backoffMs: BACKOFF_MS,
        dedupeBufferSize: 1_000_000,
        loadFactor: 0.9,
        maxBytesPerSecond: Number.MAX_SAFE_INTEGER,
        ...cleaner,
      }),
      logs: () => logs_().map(each => each.cleanable),
      applyRetention: () => {
        for (const each of logs_()) each.applyRetention(env.now())
      },
    })
    made.wake()
    cleaners.push(made)
    return made
  }
  startCleaner()
  /** Lets the cleaner do what there is to do. */
  const clean = () => {
    for (const each of cleaners) each.wake()
    env.advance(BACKOFF_MS + 1000)
  }
  return { ...fixture, env, logs, clean, startCleaner, cleaner: cleaners[0] }
}

function record(key: string | null, value: string | null, timestamp = T): RecordInput {
  return { key: key === null ? null : utf8Encode(key), value: value === null ? null : utf8Encode(value), timestamp }
}

/** `offset:key=value`, and `offset:key` for a tombstone. */
function texts(log: Log, isolation?: 'log_end' | 'high_watermark' | 'last_stable'): string[] {
  return readBatches(log, isolation).flatMap(({ batch, bytes }) => {
    if (batch.isControl) return [`${batch.baseOffset}:marker`]
    return readRecords(bytes, 0, platform).map(
      ({ offset, key, value }) =>
        `${offset}:${utf8Decode(key ?? new Uint8Array())}${value === null ? '' : `=${utf8Decode(value)}`}`,
    )
  })
}

function readBatches(log: Log, isolation: 'log_end' | 'high_watermark' | 'last_stable' = 'log_end') {
  const found: { batch: ReturnType<typeof readBatchHeader>; bytes: Uint8Array }[] = []
  let offset = log.logStartOffset
  for (;;) {
    const { parts } = log.read(offset, { maxBytes: 1, minOneBatch: true, isolation })
    if (parts.length === 0) return found
    const bytes = concat(parts)
    eachBatch(bytes, (at, size) => {
      const one = bytes.slice(at, at + size)
      found.push({ batch: readBatchHeader(one), bytes: one })
      offset = batchLastOffset(bytes, at) + 1
    })
  }
}

/** Appends one batch per text: `key=value`, `key` for a tombstone. Each batch is a segment when `roll` says so. */
function write(log: Log, lines: string, options: { roll?: boolean; timestamp?: number } = {}): void {
  const { roll = true, timestamp = T } = options
  for (const line of lines.split(' ')) {
    const records = line.split(',').map(each => {
      const [key, value] = each.split('=')
      return record(key, value ?? null, timestamp)
    })
    append(log, batchOf(records), { now: timestamp })
    if (roll) log.roll()
  }
}

describe('a cleaned log', () => {
  it('has the last record of each key at its offset, in order, and ends where it ended', () => {
    const { log, clean } = makeCleaner()
    write(log, 'a=1 b=2 a=3,c=4 b=5 d=6 a=7')
    write(log, 'a=8', { roll: false })
    clean()
    expect(texts(log)).toEqual(['3:c=4', '4:b=5', '5:d=6', '6:a=7', '7:a=8'])
    expect([log.logStartOffset, log.logEndOffset, log.highWatermark, log.segmentCount]).toEqual([0, 8, 8, 2])
    expect(log.offsetForTimestamp(0)).toMatchObject({ offset: 3 })
    expect(log.endOffsetForEpoch(0)).toMatchObject({ endOffset: 8 })
  })

  it('is the same when it is opened again, and goes on', () => {
    const { env, log, clean, reopen } = makeCleaner()
    write(log, 'a=1 b=2,b=3 a=4 c=5')
    clean()
    const before = texts(log)
    expect(before).toEqual(['2:b=3', '3:a=4', '4:c=5'])
    log.close()
    env.settle()
    const again = reopen({ highWatermark: 5 })
    expect(texts(again)).toEqual(before)
    expect(again.logEndOffset).toBe(5)
    append(again, batchOf([record('a', '6')]))
    expect(texts(again).at(-1)).toBe('5:a=6')
  })

  it('is not touched in its active segment, nor behind the high watermark', () => {
    const { log, clean } = makeCleaner()
    for (const value of ['1', '2', '3']) {
      log.appendAsLeader(batchOf([record('a', value)]), { leaderEpoch: 0, now: T, origin: 'client' })
      log.roll()
    }
    log.updateHighWatermark(1)
    clean()
    expect(texts(log)).toEqual(['0:a=1', '1:a=2', '2:a=3'])
    log.updateHighWatermark(2)
    clean()
    expect(texts(log)).toEqual(['1:a=2', '2:a=3'])
    log.updateHighWatermark(3)
    clean()
    expect(texts(log)).toEqual(['2:a=3'])
  })

  it('keeps old readers’ bytes as they were', () => {
    const { log, clean } = makeCleaner()
    write(log, 'a=1 a=2')
    const { parts } = log.read(0, { maxBytes: 1000, minOneBatch: true, isolation: 'log_end' })
    const copy = concat(parts).slice()
    clean()
    expect(texts(log)).toEqual(['1:a=2'])
    expect(concat(parts)).toEqual(copy)
  })

  it('is made of segments as large as they may be', () => {
    const { log, clean } = makeCleaner({ segmentBytes: 300 })
    write(log, 'a=1 b=2 c=3 d=4 e=5 f=6 g=7 h=8')
    clean()
    expect(texts(log).length).toBe(8)
    // Batches of 72 bytes: four to a segment, and the active one.
    expect(log.segmentCount).toBe(3)
  })

  it('loses records without keys', () => {
    const { log, clean } = makeCleaner({ compact: false, delete: true, retentionMs: -1 })
    append(log, batchOf([record(null, 'x'), record('a', '1')]))
    log.roll()
    log.updateConfig({ ...log.config, compact: true })
    write(log, 'z=1')
    clean()
    expect(texts(log)).toEqual(['1:a=1', '2:z=1'])
  })

  it('keeps what is not in the map when that is full, and goes on from there', () => {
    // Room for eight keys.
    const { log, env, clean } = makeCleaner({}, { dedupeBufferSize: 24 * 9, loadFactor: 1 })
    const keys = Array.from({ length: 30 }, (_, index) => `k${index % 15}`)
    write(log, keys.map((key, index) => `${key}=${index}`).join(' '))
    for (let round = 0; round < 10; round++) clean()
    expect(texts(log)).toEqual(keys.slice(15).map((key, index) => `${index + 15}:${key}=${index + 15}`))
    expect(env.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  })

  it('is cleaned again only when it is dirty enough', () => {
    const { log, clean } = makeCleaner({ minCleanableRatio: 0.5 })
    write(log, 'a=1 b=1 c=1 d=1 e=1')
    clean()
    write(log, 'a=2 b=2')
    clean()
    expect(texts(log).length).toBe(7)
    write(log, 'c=2 d=2 e=2 a=3')
    clean()
    expect(texts(log)).toEqual(['6:b=2', '7:c=2', '8:d=2', '9:e=2', '10:a=3'])
  })

  it('is cleaned when a record is older than the maximum lag, and young ones are left alone', () => {
    const { log, env, clean } = makeCleaner({
      minCleanableRatio: 1,
      maxCompactionLagMs: HOUR_MS,
      minCompactionLagMs: HOUR_MS / 2,
    })
    write(log, 'a=1 a=2', { timestamp: env.now() })
    env.advance(HOUR_MS / 2)
    write(log, 'a=3', { timestamp: env.now() })
    clean()
    expect(texts(log)).toEqual(['0:a=1', '1:a=2', '2:a=3'])
    env.advance(HOUR_MS / 2 - BACKOFF_MS)
    write(log, 'a=4 a=5', { timestamp: env.now() })
    clean()
    expect(texts(log)).toEqual(['2:a=3', '3:a=4', '4:a=5'])
  })

  it('is as old as the broker’s clock says, where that is ahead of the clients', () => {
    const env = new VirtualEnv({ aheadOfClients: true })
    const { log, clean } = makeCleaner({ minCleanableRatio: 1, maxCompactionLagMs: HOUR_MS }, {}, env)
    env.advance(10 * HOUR_MS)
    // The times in the records are those of a client for whom no time has passed.
    for (const value of ['1', '2']) {
      append(log, batchOf([record('a', value)]), { now: env.now() })
      log.roll()
    }
    clean()
    expect(texts(log)).toEqual(['0:a=1', '1:a=2'])
    env.advance(HOUR_MS)
    clean()
    expect(texts(log)).toEqual(['1:a=2'])
  })

  it('drops old segments too when its policy says so', () => {
    const { log, env, clean } = makeCleaner({ delete: true, retentionMs: HOUR_MS })
    write(log, 'a=1 b=2', { timestamp: env.now() })
    env.advance(2 * HOUR_MS)
    write(log, 'c=3 c=4', { timestamp: env.now() })
    clean()
    expect(texts(log)).toEqual(['3:c=4'])
    expect(log.logStartOffset).toBe(2)
  })
})

describe('a tombstone', () => {
  it('stays for its time from the first cleaning on, then goes', () => {
    const { log, env, clean } = makeCleaner({ deleteRetentionMs: HOUR_MS })
    write(log, 'a=1 b=2 a z=3')
    clean()
    expect(texts(log)).toEqual(['1:b=2', '2:a', '3:z=3'])
    const [, { batch }] = readBatches(log)
    expect(batch).toMatchObject({ hasDeleteHorizon: true, maxTimestamp: T })
    expect(batch.baseTimestamp).toBe(T + BACKOFF_MS + HOUR_MS)
    write(log, 'z=4')
    clean()
    expect(texts(log)).toEqual(['1:b=2', '2:a', '4:z=4'])
    env.advance(HOUR_MS)
    expect(texts(log)).toEqual(['1:b=2', '2:a', '4:z=4'])
    write(log, 'z=5')
    clean()
    expect(texts(log)).toEqual(['1:b=2', '5:z=5'])
  })

  it('of a key that comes again is no more than an old record', () => {
    const { log, clean } = makeCleaner()
    write(log, 'a=1 a a=2 z=3')
    clean()
    expect(texts(log)).toEqual(['2:a=2', '3:z=3'])
  })
})

describe('producers in a cleaned log', () => {
  const send = (log: Log, producerId: number, baseSequence: number, ...records: RecordInput[]) =>
    append(log, batchOf(records, { producerId, producerEpoch: 0, baseSequence }))

  it('are still known by their last batch, whatever is left of it', () => {
    const { env, log, clean, reopen } = makeCleaner()
    send(log, 1, 0, record('a', '1'))
    send(log, 1, 1, record('a', '2'), record('b', '3'))
    send(log, 2, 0, record('b', '4'))
    log.roll()
    write(log, 'a=5 b=6')
    clean()
    expect(texts(log)).toEqual(['4:a=5', '5:b=6'])
    expect(readBatches(log).map(({ batch }) => [batch.baseOffset, batch.recordsCount, batch.baseSequence])).toEqual([
      [1, 0, 1],
      [3, 0, 0],
      [4, 1, -1],
      [5, 1, -1],
    ])
    log.close()
    env.settle()
    const again = reopen({ highWatermark: 6 })
    expect(send(again, 1, 1, record('a', '2'), record('b', '3'))).toMatchObject({ duplicate: true, firstOffset: 1 })
    expect(() => send(again, 1, 4, record('a', '7'))).toThrow()
    expect(send(again, 1, 3, record('a', '7'))).toMatchObject({ duplicate: false, firstOffset: 6 })
  })
})

describe('transactions in a cleaned log', () => {
  function transactional(log: Log, producerId: number, baseSequence: number, ...records: RecordInput[]) {
    return append(log, batchOf(records, { producerId, producerEpoch: 0, baseSequence, isTransactional: true }))
  }

  function end(log: Log, producerId: number, type: 'COMMIT' | 'ABORT') {
    const marker = buildEndTransactionMarker({ type, coordinatorEpoch: 0, producerId, producerEpoch: 0, timestamp: T })
    log.appendAsLeader(marker, { leaderEpoch: 0, now: T, origin: 'coordinator' })
    log.updateHighWatermark(log.logEndOffset)
  }

  it('aborted data goes at once, its marker when its time has come', () => {
    const { log, env, clean } = makeCleaner({ deleteRetentionMs: HOUR_MS, producerIdExpirationMs: HOUR_MS })
    write(log, 'a=1')
    transactional(log, 1, 0, record('a', '2'), record('b', '3'))
    end(log, 1, 'ABORT')
    log.roll()
    write(log, 'c=4')
    expect(log.read(1, { maxBytes: 1, minOneBatch: true, isolation: 'last_stable' }).abortedTransactions).toEqual([
      { producerId: 1, firstOffset: 1 },
    ])
    clean()
    // The last batch of a producer that may go on stays, empty, and its marker with it.
    expect(texts(log)).toEqual(['0:a=1', '3:marker', '4:c=4'])
    env.advance(2 * HOUR_MS)
    log.applyRetention(env.now())
    write(log, 'c=5', { timestamp: env.now() })
    clean()
    expect(texts(log)).toEqual(['0:a=1', '3:marker', '5:c=5'])
    expect(log.abortedTransactions().length).toBe(1)
    write(log, 'c=6', { timestamp: env.now() })
    clean()
    // Now it is the marker of a transaction without data, and waits.
    expect(texts(log)).toEqual(['0:a=1', '3:marker', '6:c=6'])
    expect(log.abortedTransactions()).toEqual([])
    env.advance(HOUR_MS + 1)
    write(log, 'c=7', { timestamp: env.now() })
    clean()
    expect(texts(log)).toEqual(['0:a=1', '7:c=7'])
  })

  it('an open transaction is left alone, and what it would update', () => {
    const { log, clean } = makeCleaner()
    write(log, 'a=1 b=2')
    transactional(log, 1, 0, record('a', '3'))
    log.roll()
    write(log, 'a=4 z=5')
    clean()
    expect(texts(log)).toEqual(['0:a=1', '1:b=2', '2:a=3', '3:a=4', '4:z=5'])
    end(log, 1, 'COMMIT')
    log.roll()
    write(log, 'z=6')
    clean()
    expect(texts(log)).toEqual(['1:b=2', '3:a=4', '5:marker', '6:z=6'])
  })

  it('records of an aborted transaction outdate nothing', () => {
    const { log, clean } = makeCleaner()
    write(log, 'a=1')
    transactional(log, 1, 0, record('a', '2'))
    transactional(log, 2, 0, record('a', '3'))
    end(log, 2, 'ABORT')
    end(log, 1, 'ABORT')
    log.roll()
    write(log, 'z=4')
    clean()
    expect(texts(log, 'last_stable').filter(text => text.includes('='))).toEqual(['0:a=1', '5:z=4'])
  })
})

describe('a cleaning takes its time', () => {
  const KEYS = 400
  /** So many records that one slice is not enough: each key four times, a thousand bytes at a time. */
  function fill(log: Log): void {
    for (let round = 0; round < 4; round++) {
      for (let key = 0; key < KEYS; key += 20) {
        const records = Array.from({ length: 20 }, (_, index) =>
          record(`k${key + index}`, `${round} ${'x'.repeat(100)}`),
        )
        append(log, batchOf(records))
      }
      log.roll()
    }
  }

  /** Where it is after the first slice. */
  function begun(config: Partial<LogConfig> = {}, cleaner: Partial<CleanerConfig> = {}) {
    const made = makeCleaner(config, cleaner)
    fill(made.log)
    made.env.advance(BACKOFF_MS)
    expect(texts(made.log).length).toBe(4 * KEYS)
    expect(made.storage.list('t-0').some(name => name.endsWith('.cleaned'))).toBe(false)
    while (!made.storage.list('t-0').some(name => name.endsWith('.cleaned'))) made.env.advance(1)
    return made
  }

  const leftovers = ({ storage }: { storage: { list(path: string): string[] } }) =>
    storage.list('t-0').filter(name => /cleaned|swap/.test(name))

  it('and others their turn: records that come meanwhile are not touched', () => {
    const made = begun()
    const { log, env } = made
    append(log, batchOf([record('k0', 'new')]))
    append(log, batchOf([record('k0', 'newer')]))
    env.advance(1000)
    expect(texts(log).slice(0, 2)).toEqual([`1200:k0=3 ${'x'.repeat(100)}`, `1201:k1=3 ${'x'.repeat(100)}`])
    expect(texts(log).slice(-2)).toEqual(['1600:k0=new', '1601:k0=newer'])
    expect(texts(log).length).toBe(KEYS + 2)
    expect(leftovers(made)).toEqual([])
  })

  it('and keeps away for as long as its turn came late, within reason', () => {
    class LateEnv extends VirtualEnv {
      lateMs = 0
      delays = new Set<number>()
      #passedMs = 0

      override now(): number {
        return super.now() + this.#passedMs
      }

      override timer(delayMs: number, run: () => void) {
        this.delays.add(delayMs)
        return super.timer(delayMs, () => this.#runLate(run))
      }

      #runLate(run: () => void): void {
        this.#passedMs += this.lateMs
        run()
      }
    }
    for (const [lateMs, pauseMs] of [
      [0, 1],
      [7, 7],
      [1000, 50],
    ]) {
      const env = new LateEnv()
      const { log } = makeCleaner({ fileDeleteDelayMs: 0 }, {}, env)
      fill(log)
      env.lateMs = lateMs
      env.delays.clear()
      env.advance(BACKOFF_MS + 2000)
      expect(texts(log).length).toBe(KEYS)
      // The first slice follows from the backoff, and the next cleaning comes after a pause of its own.
      expect([...env.delays].sort((a, b) => a - b)).toEqual([...new Set([1, pauseMs, BACKOFF_MS])])
    }
  })

  it('no more than its bytes per second let it', () => {
    const made = makeCleaner({}, { maxBytesPerSecond: 10_000 })
    fill(made.log)
    const { sizeInBytes } = made.log
    // It reads everything twice, and writes a part; for the last slice nobody has to wait.
    made.env.advance(BACKOFF_MS + sizeInBytes / 10)
    expect(texts(made.log).length).toBe(4 * KEYS)
    made.env.advance(sizeInBytes)
    expect(texts(made.log).length).toBe(KEYS)
  })

  it('as its configs say now: they may change meanwhile', () => {
    const cleaner = { maxBytesPerSecond: 1, dedupeBufferSize: 1_000_000 }
    const made = makeCleaner({}, cleaner)
    fill(made.log)
    made.env.advance(BACKOFF_MS + 1000)
    expect(texts(made.log).length).toBe(4 * KEYS)
    cleaner.maxBytesPerSecond = Number.MAX_SAFE_INTEGER
    // What it has moved it pays for as it was told then.
    made.env.advance(2 * 24 * HOUR_MS)
    expect(texts(made.log).length).toBe(KEYS)
  })

  it('gives up when the log is cut, and begins again with what is left', () => {
    const made = begun()
    const { log, env, clean } = made
    log.truncateTo(900)
    env.advance(5)
    expect(leftovers(made)).toEqual([])
    expect(texts(log).length).toBe(900)
    write(log, 'k0=other k1=other')
    clean()
    // Of the third round half was cut off.
    expect(texts(log).length).toBe(KEYS)
    expect(texts(log).slice(-2)).toEqual(['900:k0=other', '901:k1=other'])
    expect(log.logEndOffset).toBe(902)
  })

  it('gives up when segments are dropped', () => {
    const made = begun()
    const { log, env, clean } = made
    log.deleteRecordsBefore(400)
    expect(log.applyRetention(env.now())).toBe(1)
    env.advance(5)
    expect(leftovers(made)).toEqual([])
    expect(texts(log).length).toBe(3 * KEYS)
    clean()
    expect(texts(log).length).toBe(KEYS)
  })

  it('gives up when the log is closed or deleted', () => {
    for (const way of ['close', 'delete'] as const) {
      const made = begun()
      const { log, logs, env, storage } = made
      log[way]()
      logs.splice(0)
      env.advance(1000)
      expect(leftovers(made)).toEqual([])
      expect(storage.exists('t-0')).toBe(way === 'close')
      expect(env.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
    }
  })

  it('gives up when the policy is not to compact any more', () => {
    const made = begun()
    const { log, logs, env } = made
    log.updateConfig({ ...log.config, compact: false, delete: true })
    logs.splice(0)
    env.advance(1000)
    expect(leftovers(made)).toEqual([])
    expect(texts(log).length).toBe(4 * KEYS)
    expect(env.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
    log.updateConfig({ ...log.config, compact: true, delete: false })
    logs.push(log)
    made.clean()
    expect(texts(log).length).toBe(KEYS)
  })

  it('gives up when it is stopped, and does nothing more', () => {
    const made = begun()
    const { log, env, cleaner } = made
    cleaner.stop()
    expect(leftovers(made)).toEqual([])
    expect(env.timers).toBe(0)
    env.advance(10 * BACKOFF_MS)
    expect(texts(log).length).toBe(4 * KEYS)
  })

  it('is the same history twice', () => {
    const history = () => {
      const made = begun()
      const steps: string[] = []
      for (let ms = 0; ms < 50; ms++) {
        made.env.advance(1)
        steps.push(`${made.log.sizeInBytes} ${made.storage.list('t-0').join()}`)
      }
      return steps
    }
    expect(history()).toEqual(history())
  })
})

describe('what a cleaner meets', () => {
  it('a storage without room: it tries again later', () => {
    const env = new VirtualEnv()
    const made = makeLog({ compact: true, delete: false, minCleanableRatio: 0 }, { env, maxBytes: 160_000 })
    const { log, storage } = made
    for (let index = 0; index < 6; index++) write(log, `a${index}=${'x'.repeat(5000)} b=${index}`)
    const filler = storage.open('filler', { create: true })
    for (;;) {
      try {
        filler.appendv([new Uint8Array(1000)])
      } catch {
        break
      }
    }
    const cleaner = new LogCleaner({
      env,
      storage,
      config: () => ({
        isEnabled: true,
        backoffMs: 1000,
        dedupeBufferSize: 10_000,
        loadFactor: 0.9,
        maxBytesPerSecond: 1e9,
      }),
      logs: () => [log.cleanable],
      applyRetention: () => {},
    })
    cleaner.wake()
    env.advance(2500)
    expect(texts(log).length).toBe(12)
    expect(env.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toContain(
      'cannot clean a log now',
    )
    storage.remove('filler')
    env.advance(2500)
    expect(texts(log).length).toBe(7)
  })

  it('a disk on which it cannot be read how old segments are: it cleans others, and tries that again later', () => {
    const { env, log, logs, clean } = makeCleaner({ maxCompactionLagMs: HOUR_MS })
    const made = makeLog({ compact: true, delete: false, minCleanableRatio: 0 }, { env })
    const other = made.reopen({ directory: 'u-0' })
    logs.push(other)
    for (const each of logs) write(each, 'a=1 a=2 a=3')
    const oldest = log.cleanable.segments.first
    let isBroken = true
    Object.defineProperty(oldest, 'firstTimestamp', {
      get() {
        if (isBroken) throw new StorageError('IO', 'EIO: read')
        return T
      },
    })
    clean()
    expect(texts(log)).toEqual(['0:a=1', '1:a=2', '2:a=3'])
    expect(texts(other)).toEqual(['2:a=3'])
    const { fields } = env.lines.find(({ message }) => message === 'cannot clean a log now') ?? {}
    expect(fields).toEqual({ partition: 't-0', error: 'EIO: read' })
    isBroken = false
    clean()
    expect(texts(log)).toEqual(['2:a=3'])
  })

  it('a table of keys that is too small for one batch: it says so', () => {
    const { env, log, clean } = makeCleaner({}, { dedupeBufferSize: 24 * 3, loadFactor: 1 })
    write(log, 'a=1,b=2,c=3 a=4')
    clean()
    expect(texts(log).length).toBe(4)
    expect(env.lines.find(({ level }) => level === 'warn')?.fields.error).toMatch('log.cleaner.dedupe.buffer.size')
  })

  it('a broken batch: the log is left alone from then on', () => {
    const { env, log, storage, clean } = makeCleaner()
    write(log, 'a=1 a=2 a=3')
    const file = storage.open('t-0/00000000000000000001.log')
    // The length of the first record.
    file.writeAt(61, Uint8Array.of(0x7f))
    clean()
    clean()
    const errors = env.lines.filter(({ level }) => level === 'error')
    expect(errors.map(({ message }) => message)).toEqual(['a log cannot be cleaned: what it holds is broken'])
    expect(log.segmentCount).toBe(4)
  })

  it('a broken log among others: they are cleaned all the same', () => {
    const { storage, log, logs, env, clean } = makeCleaner()
    const other = Log.open({ storage, directory: 'u-0', config: log.config, env, platform })
    logs.push(other)
    write(log, 'a=1 a=2 a=3')
    storage.open('t-0/00000000000000000001.log').writeAt(61, Uint8Array.of(0x7f))
    write(other, 'a=1 a=2')
    clean()
    write(other, 'a=3')
    clean()
    expect(texts(other)).toEqual(['2:a=3'])
    expect(env.lines.filter(({ level }) => level === 'error').length).toBe(1)
  })

  it('the order to be off: then neither what is old nor what is outdated goes', () => {
    const cleaner = { isEnabled: false }
    const { env, log, clean } = makeCleaner({ delete: true, retentionMs: HOUR_MS }, cleaner)
    write(log, 'a=1 a=2 a=3')
    env.advance(2 * HOUR_MS)
    clean()
    expect(texts(log).length).toBe(3)
  })

  it('several logs: the filthiest goes first, and no log waits for the backoff of another', () => {
    const { env, storage, log, logs, clean } = makeCleaner({ minCleanableRatio: 0.1 })
    const other = Log.open({ storage, directory: 'u-0', config: log.config, env, platform })
    logs.unshift(other)
    write(other, 'a=1 b=2')
    clean()
    write(other, 'a=3')
    write(log, 'a=1 a=2')
    const order: string[] = []
    for (let ms = 0; ms < BACKOFF_MS + 200; ms++) {
      env.advance(1)
      for (const [name, { sizeInBytes }] of Object.entries({ log, other })) order.push(`${name} ${sizeInBytes}`)
    }
    const changes = order
      .filter((line, index) => index > 1 && line !== order[index - 2])
      .map(line => line.split(' ')[0])
    expect(changes).toEqual(['log', 'other'])
    expect([texts(log), texts(other)]).toEqual([['1:a=2'], ['1:b=2', '2:a=3']])
  })

  it('a policy that is changed: it begins, or stops', () => {
    const { env, log, logs, clean } = makeCleaner()
    logs.splice(0)
    write(log, 'a=1 a=2')
    clean()
    expect(texts(log).length).toBe(2)
    logs.push(log)
    clean()
    expect(texts(log)).toEqual(['1:a=2'])
    env.advance(60_000)
    expect(env.timers).toBe(1)
  })
})

describe('a cleaner without work', () => {
  it('sleeps until it is told that there may be some', () => {
    const { env, log, cleaner, clean } = makeCleaner()
    append(log, batchOf([record('a', '1')]))
    env.advance(2 * BACKOFF_MS)
    expect(env.timers).toBe(0)
    cleaner.wake()
    cleaner.wake()
    expect(env.timers).toBe(1)
    env.advance(BACKOFF_MS)
    expect(env.timers).toBe(0)
    write(log, 'a=2 a=3')
    clean()
    expect(texts(log)).toEqual(['2:a=3'])
  })

  it('looks on while a log has old segments, or may lose its only one', () => {
    for (const config of [{ delete: true }, {}]) {
      const { env, log } = makeCleaner({ ...config, minCleanableRatio: 1, fileDeleteDelayMs: 0 })
      write(log, 'a=1', { roll: config.delete === undefined })
      env.advance(3 * BACKOFF_MS)
      expect(env.timers).toBe(1)
    }
  })

  it('is told by a compacted log: when it is opened, rolled, cut or configured', () => {
    const env = new VirtualEnv()
    const storage = new MemoryStorage({ turns: env.turns })
    let told = 0
    const listener = { toClean: () => void told++ }
    const open = (config: LogConfig) => Log.open({ storage, directory: 't-0', config, env, platform, listener })
    const log = open(DEFAULT_LOG_CONFIG)
    append(log, batchOf([record('a', '1')]))
    log.roll()
    expect(told).toBe(0)
    log.updateConfig({ ...DEFAULT_LOG_CONFIG, compact: true })
    expect(told).toBe(1)
    append(log, batchOf([record('a', '1')]))
    log.roll()
    log.roll()
    expect(told).toBe(2)
    log.truncateTo(1)
    expect(told).toBe(3)
    log.close()
    env.settle()
    open({ ...DEFAULT_LOG_CONFIG, compact: true })
    expect(told).toBe(4)
  })
})

describe('the point up to which a log is clean', () => {
  it('is kept in a file of Kafka’s format, for the next cleaner', () => {
    const { env, log, storage, cleaner, startCleaner, clean } = makeCleaner({ minCleanableRatio: 0.9 })
    write(log, 'a=1 b=2 a=3')
    clean()
    env.settle()
    const file = storage.open('cleaner-offset-checkpoint')
    expect(utf8Decode(concat(file.read(0, 100)))).toBe('0\n1\nt 0 3\n')
    cleaner.stop()
    startCleaner()
    write(log, 'a=4 b=5')
    clean()
    // Half of it is dirty, which is not enough.
    expect(texts(log)).toEqual(['1:b=2', '2:a=3', '3:a=4', '4:b=5'])
  })

  it('goes back when the log is cut', () => {
    const { log, clean } = makeCleaner({ minCleanableRatio: 0.6 })
    write(log, 'a=1 b=2 c=3 d=4')
    clean()
    log.truncateTo(1)
    write(log, 'a=5 a=6 a=7')
    clean()
    expect(texts(log)).toEqual(['3:a=7'])
  })

  it('goes back in the file too, for the next cleaner', () => {
    const config = { minCleanableRatio: 0.5, segmentBytes: 100 }
    const { env, log, logs, cleaner, startCleaner, clean, reopen } = makeCleaner(config)
    write(log, 'a=1 b=2 c=3 d=4')
    clean()
    log.truncateTo(2)
    clean()
    cleaner.stop()
    log.close()
    env.settle()
    const again = reopen()
    logs.splice(0, 1, again)
    // What makes the log as long as it was is dirty all the same.
    write(again, 'a=5 a=6 a=7')
    startCleaner()
    clean()
    expect(texts(again)).toEqual(['1:b=2', '4:a=7'])
  })

  it('goes back in the file even where nothing is left to clean, and the cleaner sleeps again', () => {
    const { env, log, storage, clean } = makeCleaner({ minCleanableRatio: 0.5, fileDeleteDelayMs: 0 })
    write(log, 'a=1 b=2 c=3 d=4')
    clean()
    log.truncateTo(2)
    expect(log.segmentCount).toBe(1)
    clean()
    env.settle()
    expect(utf8Decode(concat(storage.open('cleaner-offset-checkpoint').read(0, 100)))).toBe('0\n1\nt 0 2\n')
    env.advance(BACKOFF_MS)
    expect(env.timers).toBe(0)
  })

  it('counts no more when all below it was deleted: then the log begins dirty', () => {
    const { env, log, clean } = makeCleaner({ minCleanableRatio: 0.9, fileDeleteDelayMs: 0 })
    write(log, 'a=1 b=2 c=3 d=4')
    clean()
    write(log, 'e=5 f=6 e=7 f=8')
    clean()
    // Half of it is dirty, which is not enough, until the other half is gone.
    expect(texts(log).length).toBe(8)
    log.deleteRecordsBefore(5)
    log.applyRetention(env.now())
    clean()
    expect(texts(log)).toEqual(['6:e=7', '7:f=8'])
  })

  it('does not count for another log of the same name', () => {
    const { env, log, logs, clean, reopen } = makeCleaner({ minCleanableRatio: 0.6 })
    write(log, 'a=1 b=2 c=3')
    clean()
    log.delete()
    env.settle()
    const other = reopen()
    logs.splice(0, 1, other)
    write(other, 'a=1 a=2 a=3 a=4 a=5')
    clean()
    expect(texts(other)).toEqual(['4:a=5'])
  })
})
