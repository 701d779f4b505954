import { describe, expect, it } from 'vitest'
import { GatedStorage } from '../../test/support/gated-storage.ts'
import { append, batchOf, errorOf, makeLog, readTexts } from '../../test/support/log.ts'
import { concat } from '../util/byte-writer.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import type { Log } from './log.ts'
import { DEFAULT_LOG_CONFIG } from './log-config.ts'
import { segmentName } from './segment-files.ts'

const state = (log: Log) => ({
  start: log.logStartOffset,
  end: log.logEndOffset,
  segments: log.segmentCount,
  size: log.sizeInBytes,
  epoch: log.latestEpoch,
  producers: log.producers(),
  texts: readTexts(log),
  newest: log.maxTimestamp(),
})

/** A log of three segments of two batches each. */
function threeSegments() {
  const fixture = makeLog({ segmentBytes: 200 }, { durable: true })
  for (const [index, value] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) {
    append(fixture.log, batchOf([value], { producerId: 1, producerEpoch: 0, baseSequence: index }), {
      leaderEpoch: index >> 1,
    })
  }
  fixture.env.settle()
  const file = (baseOffset: number) => fixture.storage.open(`t-0/${segmentName(baseOffset)}`)
  return { ...fixture, file, size: batchOf(['a']).length }
}

describe('opening a log again', () => {
  it('gives the same log', () => {
    const { log, reopen } = threeSegments()
    const again = reopen()
    expect(state(again)).toEqual(state(log))
    for (const epoch of [-1, 0, 1, 2, 3]) expect(again.endOffsetForEpoch(epoch)).toEqual(log.endOffsetForEpoch(epoch))
    append(again, batchOf(['g'], { producerId: 1, producerEpoch: 0, baseSequence: 6 }), { leaderEpoch: 3 })
    expect(readTexts(again, 5)).toEqual(['5:f', '6:g'])
  })

  it('takes the high watermark that it is told, within the log', () => {
    const { reopen } = threeSegments()
    expect([-1, 4, 100].map(highWatermark => reopen({ highWatermark }).highWatermark)).toEqual([0, 4, 6])
    expect(reopen().highWatermark).toBe(0)
  })

  it.each([1, 30, 60, 61, 68])('drops a batch of which only %d bytes were written', cut => {
    const { file, reopen, size, env } = threeSegments()
    file(4).truncate(size + cut)
    const log = reopen()
    expect([log.logEndOffset, log.sizeInBytes]).toEqual([5, 5 * size])
    expect(env.lines).toMatchObject([{ level: 'warn', fields: { bytes: cut } }])
    append(log, batchOf(['x']))
    expect(readTexts(log, 4)).toEqual(['4:e', '5:x'])
  })

  it('drops zeros at the end, which a file may have after a power cut', () => {
    const { file, reopen, size } = threeSegments()
    file(4).appendv([new Uint8Array(500)])
    expect(reopen().sizeInBytes).toBe(6 * size)
  })

  it('drops a batch whose checksum is wrong, and everything behind it', () => {
    const { file, reopen, storage, env } = threeSegments()
    file(2).writeAt(65, Uint8Array.of(0xff))
    const log = reopen()
    expect([log.logEndOffset, log.segmentCount]).toEqual([2, 2])
    // The checkpoint knows where epoch 1 began; of epoch 2 nothing is left.
    expect(log.latestEpoch).toBe(1)
    env.settle()
    expect(storage.list('t-0').filter(name => name.includes('.log'))).toEqual([segmentName(0), segmentName(2)])
    append(log, batchOf(['x']))
    expect(readTexts(log)).toEqual(['0:a', '1:b', '2:x'])
  })

  it('does not look at checksums of what is known to be synced', () => {
    const { file, reopen } = threeSegments()
    file(0).writeAt(65, Uint8Array.of(0xff))
    expect(reopen({ recoveryPoint: 2 }).logEndOffset).toBe(6)
    expect(reopen({ recoveryPoint: 1 }).logEndOffset).toBe(6)
    expect(reopen({ recoveryPoint: 0 }).logEndOffset).toBe(0)
  })

  it('ends before a segment that is gone, or has lost its end: nothing behind a gap is part of the log', () => {
    for (const spoil of ['gone', 'empty', 'shorter']) {
      const { file, reopen, storage, size, env } = threeSegments()
      if (spoil === 'gone') storage.remove(`t-0/${segmentName(2)}`)
      else file(2).truncate(spoil === 'empty' ? 0 : size)
      const log = reopen()
      const end = spoil === 'shorter' ? 3 : 2
      expect([log.logEndOffset, log.sizeInBytes]).toEqual([end, end * size])
      expect(env.lines.some(({ message }) => message.includes('behind a broken one'))).toBe(true)
      append(log, batchOf(['x']))
      expect(readTexts(log, end)).toEqual([`${end}:x`])
    }
  })

  it('takes gaps for what compaction leaves where there is compaction', () => {
    const { file, reopen, size } = threeSegments()
    file(2).truncate(size)
    const log = reopen({ config: { ...DEFAULT_LOG_CONFIG, compact: true } })
    expect([log.logEndOffset, readTexts(log)]).toEqual([6, ['0:a', '1:b', '2:c', '4:e', '5:f']])
    // They may be something else all the same.
    expect(log.doubtfulFrom).toBe(3)
    log.truncateTo(4)
    expect(log.doubtfulFrom).toBe(3)
    log.truncateTo(3)
    expect([log.logEndOffset, log.doubtfulFrom]).toEqual([3, undefined])
  })

  it('doubts no gap of what was on the disk, nor one for which nobody has more', () => {
    const compact = { ...DEFAULT_LOG_CONFIG, compact: true }
    const { file, reopen, size } = threeSegments()
    file(2).truncate(size)
    expect(reopen({ config: compact, recoveryPoint: 4 }).doubtfulFrom).toBeUndefined()
    const log = reopen({ config: compact })
    log.trust()
    expect([log.logEndOffset, log.doubtfulFrom]).toEqual([6, undefined])
  })

  it('drops a batch whose offset goes back', () => {
    const { file, reopen } = threeSegments()
    file(4).appendv([batchOf(['old'], { baseOffset: 3 })])
    expect(reopen().logEndOffset).toBe(6)
  })

  it('removes files of deleted segments, and leaves files that it does not know', () => {
    const { storage, reopen, env } = threeSegments()
    for (const name of [`${segmentName(0)}.deleted`, '00000000000000000000.index.deleted', 'notes.txt']) {
      storage.open(`t-0/${name}`, { create: true }).appendv([Uint8Array.of(1)])
    }
    reopen()
    env.settle()
    const names = storage.list('t-0').filter(name => !/\.(log|index|timeindex)$/.test(name))
    expect(names).toEqual(['leader-epoch-checkpoint', 'notes.txt'])
  })

  it('goes on without checkpoints, and without broken ones', () => {
    const { log, storage, reopen, env } = threeSegments()
    for (const text of ['', 'rubbish\n', '0\n5\n1 2\n', '0\n1\n1 x\n', '9\n1\n7 0\n']) {
      storage.replace('t-0/leader-epoch-checkpoint', new TextEncoder().encode(text))
      const again = reopen()
      expect(again.endOffsetForEpoch(1)).toEqual(log.endOffsetForEpoch(1))
      expect(again.latestEpoch).toBe(2)
    }
    expect(env.lines.filter(line => line.message.includes('checkpoint')).length).toBe(4)
    storage.remove('t-0/leader-epoch-checkpoint')
    expect(reopen().endOffsetForEpoch(0)).toEqual(log.endOffsetForEpoch(0))
  })

  it('believes the batches where a checkpoint is older than they are', () => {
    const { storage, reopen } = threeSegments()
    storage.replace('t-0/leader-epoch-checkpoint', new TextEncoder().encode('0\n2\n0 0\n7 1\n'))
    const log = reopen()
    expect([0, 1, 2].map(epoch => log.endOffsetForEpoch(epoch).endOffset)).toEqual([2, 4, 6])
  })

  it('begins where it was told to when its data is lost', () => {
    const { log, storage, reopen } = threeSegments()
    log.deleteRecordsBefore(5)
    for (const base of [0, 2, 4]) storage.remove(`t-0/${segmentName(base)}`)
    const again = reopen()
    expect([again.logStartOffset, again.logEndOffset]).toEqual([5, 5])
  })
})

describe('opening a log that was closed in good order', () => {
  /** A log with several segments, closed. */
  function closed() {
    const env = new VirtualEnv()
    const storage = new GatedStorage(env.turns)
    const fixture = makeLog({ segmentBytes: 400, indexIntervalBytes: 100 }, { env, storage })
    for (let index = 0; index < 20; index++) {
      append(fixture.log, batchOf(['value'], { producerId: 1, producerEpoch: 0, baseSequence: index }))
    }
    fixture.log.close()
    env.settle()
    const { recoveryPoint } = fixture.log
    const before = state(fixture.log)
    storage.read.length = 0
    return {
      ...fixture,
      storage,
      before,
      open: () => fixture.reopen({ recoveryPoint, wasClosed: true }),
    }
  }

  it('reads no segment and no index, until somebody asks', () => {
    const { open, storage, before } = closed()
    const log = open()
    expect(storage.read.filter(path => /(log|index)$/.test(path))).toEqual([])
    expect([log.logStartOffset, log.logEndOffset, log.sizeInBytes]).toEqual([before.start, before.end, before.size])
    expect(log.producers()).toEqual(before.producers)
    expect(log.recoveryPoint).toBe(20)
    expect(state(log)).toEqual(before)
  })

  it('goes on where it ended: appends, finds by time, is cut', () => {
    const { open } = closed()
    const log = open()
    append(
      log,
      batchOf([{ value: null, timestamp: 1_700_000_009_000 }], { producerId: 1, producerEpoch: 0, baseSequence: 20 }),
    )
    expect(log.offsetForTimestamp(1_700_000_009_000)).toMatchObject({ offset: 20 })
    expect(log.offsetForTimestamp(1_700_000_000_000)).toMatchObject({ offset: 0 })
    const again = open()
    again.truncateTo(13)
    expect([again.logEndOffset, readTexts(again, 12)]).toEqual([13, ['12:value']])
  })

  it('makes indexes again that are missing or cannot be right, and puts them back', () => {
    for (const spoil of [
      (storage: GatedStorage, path: string) => void storage.remove(path),
      (storage: GatedStorage, path: string) => storage.open(path).appendv([Uint8Array.of(1, 2, 3)]),
      (storage: GatedStorage, path: string) => void storage.replace(path, new Uint8Array(48)),
      (storage: GatedStorage, path: string) => void storage.replace(path, new Uint8Array(48).fill(0x55)),
    ]) {
      const { open, storage, before, env } = closed()
      const names = storage.list('t-0').filter(name => /index$/.test(name))
      const wanted = names.map(name => [name, ...concat(storage.open(`t-0/${name}`).read(0, 1e6))])
      for (const name of names) spoil(storage, `t-0/${name}`)
      const log = open()
      expect(state(log)).toEqual(before)
      for (let offset = 0; offset < 20; offset++) expect(readTexts(log, offset)[0]).toBe(`${offset}:value`)
      env.settle()
      expect(env.lines.filter(({ message }) => message.includes('index')).length).toBe(names.length / 2)
      log.close()
      env.settle()
      expect(names.map(name => [name, ...concat(storage.open(`t-0/${name}`).read(0, 1e6))])).toEqual(wanted)
    }
  })

  it('is read after all where the file does not fit what is known of it', () => {
    const { open, storage, env } = closed()
    const [last] = storage
      .list('t-0')
      .filter(name => name.endsWith('.log'))
      .slice(-1)
    storage.open(`t-0/${last}`).truncate(0)
    const log = open()
    expect(log.logEndOffset).toBe(Number(last.slice(0, 20)))
    expect(env.lines.some(({ message }) => message.includes('before its recovery point'))).toBe(true)
  })
})

describe('a recovery point', () => {
  it('is where recovery begins: what lies below is not read', () => {
    const { log, storage, env, reopen } = makeLog({ indexIntervalBytes: 100 }, { durable: true })
    const size = batchOf(['x']).length
    for (let index = 0; index < 10; index++) append(log, batchOf(['x']))
    log.checkpoint()
    env.settle()
    expect(log.recoveryPoint).toBe(10)
    for (let index = 0; index < 5; index++) append(log, batchOf(['x']))
    const file = storage.open(`t-0/${segmentName(0)}`)
    // Nobody looks there.
    file.writeAt(2 * size + 65, Uint8Array.of(0xff))
    file.writeAt(13 * size + 65, Uint8Array.of(0xff))
    const again = reopen({ recoveryPoint: log.recoveryPoint })
    expect(again.logEndOffset).toBe(13)
    expect(env.lines).toMatchObject([{ level: 'warn', fields: { bytes: 2 * size, position: 13 * size } }])
  })

  it('moves when a segment is rolled and everything of it is on the disk', () => {
    const env = new VirtualEnv()
    const storage = new GatedStorage(env.turns)
    const { log } = makeLog({}, { env, storage })
    append(log, batchOf(['a']))
    storage.holds = /\.(log|timeindex)$/
    log.roll()
    append(log, batchOf(['b']))
    env.settle()
    expect(storage.held.map(({ path }) => path.slice(-10)).sort()).toEqual(
      ['.timeindex', '000000.log'].map(end => end.padStart(10, '0')).sort(),
    )
    storage.held[0].end()
    expect(log.recoveryPoint).toBe(0)
    storage.held[0].end()
    env.settle()
    expect([log.recoveryPoint, log.flushedOffset]).toEqual([1, 1])
  })

  it('goes back with the log, and is not moved by what was cut off meanwhile', () => {
    const env = new VirtualEnv()
    const storage = new GatedStorage(env.turns)
    const { log } = makeLog({}, { env, storage })
    for (let index = 0; index < 4; index++) append(log, batchOf(['a']))
    storage.holds = /\.log$/
    const done = log.checkpoint()
    env.settle()
    log.truncateTo(2)
    append(log, batchOf(['b']))
    storage.held[0].end()
    env.settle()
    expect(done.settled).toBe(false)
    storage.held[0].end()
    env.settle()
    expect([done.value, log.recoveryPoint]).toEqual([undefined, 2])
  })
})

describe('what is read of a storage that lasts', () => {
  it('is served up to the first batch that is not as it was written, which is told once', () => {
    const { log, storage, env } = makeLog({}, { durable: true })
    const size = batchOf(['x']).length
    for (let index = 0; index < 4; index++) append(log, batchOf(['x']))
    storage.open(`t-0/${segmentName(0)}`).writeAt(2 * size + 65, Uint8Array.of(0xff))
    const read = (offset: number) =>
      log.read(offset, { maxBytes: 1e6, minOneBatch: true, isolation: 'log_end' }).sizeInBytes
    expect(read(0)).toBe(2 * size)
    for (let count = 0; count < 3; count++) expect(errorOf(() => read(2))).toBe('CORRUPT_MESSAGE')
    expect(read(3)).toBe(size)
    const lines = env.lines.filter(({ level }) => level === 'error')
    expect(lines).toMatchObject([{ message: 'a log is corrupt', fields: { partition: 't-0' } }])
    expect(lines[0].fields?.error).toContain(segmentName(0))
  })

  it('is refused where there is no batch any more', () => {
    const { log, storage } = makeLog({}, { durable: true })
    const size = batchOf(['x']).length
    for (let index = 0; index < 4; index++) append(log, batchOf(['x']))
    const file = storage.open(`t-0/${segmentName(0)}`)
    for (const length of [0, -5, 0x7fffffff, 10]) {
      file.writeAt(size + 8, Uint8Array.of(length >> 24, length >> 16, length >> 8, length))
      for (const offset of [1, 2, 3]) {
        const read = () => log.read(offset, { maxBytes: 1e6, minOneBatch: true, isolation: 'log_end' })
        if (offset > 1 || length !== 10) expect(errorOf(read)).toBe('CORRUPT_MESSAGE')
      }
    }
  })
})

it('makes it durable that segments are gone that were never flushed, before what lies behind them counts as flushed', () => {
  const { reopen, storage, env } = threeSegments()
  // After a kill nothing is known to be on the disk.
  const log = reopen({ highWatermark: 6 })
  expect(log.flushedOffset).toBe(0)
  const synced: string[] = []
  const syncDirectory = storage.syncDirectory.bind(storage)
  Object.assign(storage, {
    syncDirectory(directory: string) {
      synced.push(directory)
      return syncDirectory()
    },
  })
  log.deleteRecordsBefore(5)
  expect(log.applyRetention(env.now())).toBe(2)
  log.flush()
  env.settle()
  // Once for the removal, which is to be known as done, and once for the flush, which is not to count before.
  expect([log.flushedOffset, synced]).toEqual([6, ['t-0', 't-0']])
  append(log, batchOf(['g']))
  log.flush()
  env.settle()
  expect([log.flushedOffset, synced.length]).toEqual([7, 2])
})

it('does not end where segments are missing or broken that were removed, and came back with the power', () => {
  for (const damage of ['missing', 'torn'] as const) {
    const { storage, file, env, reopen, size } = threeSegments()
    if (damage === 'missing') storage.remove(`t-0/${segmentName(2)}`)
    else file(2).truncate(size + 20)
    env.settle()
    const log = reopen({ logStartOffset: 4, highWatermark: 6 })
    expect([damage, log.logStartOffset, log.logEndOffset]).toEqual([damage, 4, 6])
    expect(readTexts(log, 4)).toEqual(['4:e', '5:f'])
    log.applyRetention(env.now())
    expect(log.segmentCount).toBe(1)
    // It did end there if the start were lower.
    const { file: another, reopen: reopenAnother } = threeSegments()
    another(2).truncate(size + 20)
    expect(reopenAnother({ logStartOffset: 3 }).logEndOffset).toBe(3)
  }
})

it('brings to the disk what it cut off, lest it comes back with the power behind what is appended now', () => {
  const { file, reopen, env, size } = threeSegments()
  const opened = () => {
    const log = reopen()
    env.settle()
    return [log.logEndOffset, log.flushedOffset]
  }
  // Where nothing is cut nothing has to be.
  expect(opened()).toEqual([6, 0])
  file(4).truncate(size + 20)
  expect(opened()).toEqual([5, 5])
  expect(opened()).toEqual([5, 0])
})
