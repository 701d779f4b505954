import { appendFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { diskForTests, type TestDisk, temporaryDirectory } from '../../test/support/disk.ts'
import { METADATA_DIRECTORY } from '../log/root-files.ts'
import { crc32cJs } from '../records/crc32c.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import {
  type OpenOptions,
  type Storage,
  StorageError,
  type StorageFailure,
  type StorageFile,
} from '../storage/storage.ts'
import { Later } from '../util/later.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { FLUSHED_OFFSET_FILE } from './flushed-offset.ts'
import { MetadataLog, type MetadataLogOptions } from './metadata-log.ts'

const platform = { crc32c: crc32cJs } as MetadataLogOptions['platform']
const env = new VirtualEnv()
const record = (text: string) => ({ key: new Uint8Array(0), value: utf8Encode(text) })

function open(storage: Storage, options: Partial<MetadataLogOptions> = {}) {
  return new MetadataLog({ env, storage, platform, snapshotBytes: 1000, ...options })
}

/** A machine that keeps the last value of each key, and snapshots that. */
function machine(log: MetadataLog) {
  const values = new Map<string, string>()
  const offsets: number[] = []
  const apply = (text: string) => {
    const [key, value] = text.split('=')
    values.set(key, value)
  }
  log.replay(({ value }, offset) => {
    apply(utf8Decode(value as Uint8Array))
    offsets.push(offset)
  })
  const put = (...texts: string[]) => {
    log.append(texts.map(record), env.now())
    texts.forEach(apply)
    if (log.snapshotDue) log.takeSnapshot([...values].map(([key, value]) => record(`${key}=${value}`)))
    env.turns.drain()
  }
  return { values, offsets, put }
}

/** Whose files can grow, but in which there is no room for another one as long as it is full. */
class FullStorage extends MemoryStorage {
  isFull = false

  override open(path: string, options?: OpenOptions): StorageFile {
    if (this.isFull && options?.create && !this.exists(path)) throw new StorageError('NO_SPACE', `ENOSPC: open ${path}`)
    return super.open(path, options)
  }
}

const checkpoints = (storage: Storage) => storage.list(METADATA_DIRECTORY).filter(name => name.endsWith('.checkpoint'))

describe('the metadata log', () => {
  it('gives back what was decided', () => {
    const storage = new MemoryStorage({ turns: env.turns })
    const { put } = machine(open(storage))
    put('a=1', 'b=2')
    put('a=3')
    const again = machine(open(storage))
    expect([...again.values]).toEqual([
      ['a', '3'],
      ['b', '2'],
    ])
    expect(again.offsets).toEqual([0, 1, 2])
  })

  it('goes on where there is no room to begin another segment after a snapshot', () => {
    const storage = new FullStorage({ turns: env.turns })
    const { put } = machine(open(storage))
    put('a=1')
    storage.isFull = true
    put(`a=${'x'.repeat(2000)}`)
    put('b=2')
    storage.isFull = false
    put(`c=${'x'.repeat(5000)}`)
    put('d=4')
    // The next snapshot began one, and the log before the first could go with the one before.
    const begins = storage.list(METADATA_DIRECTORY).filter(name => name.endsWith('.log'))
    expect(begins.map(name => Number(name.slice(0, 20)))).toEqual([0, 4])
    const again = machine(open(storage))
    expect([...again.values.keys()]).toEqual(['a', 'b', 'c', 'd'])
  })

  it('is snapshotted from time to time, and does not grow for ever', () => {
    const storage = new MemoryStorage({ turns: env.turns })
    const { put, values } = machine(open(storage))
    for (let index = 0; index < 1000; index++) put(`key-${index % 7}=${index}`)
    expect(checkpoints(storage).length).toBe(2)
    expect(storage.usedBytes).toBeLessThan(20_000)
    const again = machine(open(storage))
    expect([...again.values].sort()).toEqual([...values].sort())
    expect(again.offsets.at(-1)).toBe(999)
    again.put('key-0=last')
    expect(machine(open(storage)).offsets.at(-1)).toBe(1000)
  })

  it('falls back on the snapshot before when the newest is damaged', () => {
    const storage = new MemoryStorage({ turns: env.turns })
    const { put, values } = machine(open(storage))
    for (let index = 0; index < 1000; index++) put(`key-${index % 7}=${index}`)
    for (const damage of [
      (path: string) => storage.open(path).writeAt(80, Uint8Array.of(255)),
      (path: string) => storage.open(path).truncate(0),
    ]) {
      const fork = storage.fork()
      damage(`${METADATA_DIRECTORY}/${checkpoints(storage)[1]}`)
      expect([...machine(open(storage)).values].sort()).toEqual([...values].sort())
      expect([...machine(open(fork)).values].sort()).toEqual([...values].sort())
    }
  })

  it('says that it is damaged when what is left does not reach', () => {
    const storage = new MemoryStorage({ turns: env.turns })
    const { put } = machine(open(storage))
    for (let index = 0; index < 1000; index++) put(`key-${index % 7}=${index}`)
    for (const name of checkpoints(storage)) storage.remove(`${METADATA_DIRECTORY}/${name}`)
    expect(() => machine(open(storage))).toThrow(/^__cluster_metadata-0 begins at \d+/)
  })

  it('takes as many bytes for the next snapshot as the last one has', () => {
    const storage = new MemoryStorage({ turns: env.turns })
    const log = open(storage)
    const { put } = machine(log)
    for (let index = 0; index < 100; index++) put(`key-${index}=${'x'.repeat(100)}`)
    const before = checkpoints(storage)
    for (let index = 0; index < 30; index++) put(`key-${index}=${'y'.repeat(100)}`)
    expect(checkpoints(storage).length).toBe(2)
    expect(checkpoints(storage)[0] >= before[0]).toBe(true)
    expect(Number(checkpoints(storage)[1].slice(0, 20)) - Number(checkpoints(storage)[0].slice(0, 20))).toBeGreaterThan(
      10,
    )
  })
})

describe('the metadata log on a damaged disk', () => {
  const segment = (root: string) => join(root, METADATA_DIRECTORY, `${'0'.repeat(20)}.log`)
  const everything = (root: string) =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      // Indexes and snapshots of producers are made again from the batches.
      .filter(entry => entry.isFile() && !/index$|snapshot$/.test(entry.name))
      .map(entry => [entry.name, readFileSync(join(entry.parentPath, entry.name), 'hex')])
      .sort()
  const openIn = (root: string) => {
    const disk = diskForTests({ root })
    const log = new MetadataLog({ env: disk.env, storage: disk.storage, platform })
    const values: string[] = []
    log.replay(({ value }) => values.push(utf8Decode(value as Uint8Array)))
    return { disk, log, values }
  }
  const flushed = (log: MetadataLog) =>
    new Promise<void>(resolve => log.onHighWatermark(offset => offset === 5 && resolve()))

  /** Five decisions of one size, all on the disk, after a kill or a good stop; where each begins. */
  async function written({ closes = false } = {}) {
    const root = temporaryDirectory()
    const { disk, log } = openIn(root)
    const done = flushed(log)
    disk.env.event(() => {
      for (let index = 0; index < 5; index++) log.append([record(`key=${index}`)], 0)
    })
    await done
    if (closes) await disk.settled(log.close())
    const size = readFileSync(segment(root)).length / 5
    const flip = (decision: number, at = 70) => {
      const bytes = readFileSync(segment(root))
      bytes[decision * size + at] ^= 1
      writeFileSync(segment(root), bytes)
    }
    return { root, size, flip }
  }

  it.each([
    ['in the middle', 2, 70, false],
    ['in the middle, after a good stop', 2, 70, true],
    ['in the first', 0, 70, false],
    ['in the last that was flushed', 4, 70, false],
    ['in the size of one', 3, 9, false],
  ])('is not opened with a bit turned over %s, and nothing is cut off', async (_, decision, at, closes) => {
    const { root, size, flip } = await written({ closes })
    flip(decision, at)
    const before = everything(root)
    expect(() => openIn(root)).toThrow(
      expect.objectContaining({
        code: 'DAMAGED',
        message: expect.stringMatching(
          new RegExp(
            `^${METADATA_DIRECTORY}/0+\\.log, at position ${decision * size}: .*offsets ${decision} to 4 were`,
          ),
        ),
      }),
    )
    expect(everything(root)).toEqual(before)
    flip(decision, at)
    expect(openIn(root).values.length).toBe(5)
  })

  it('is not opened when its end is missing', async () => {
    const { root, size } = await written()
    truncateSync(segment(root), 4 * size)
    expect(() => openIn(root)).toThrow(/offsets 4 to 4 were on the disk/)
    rmSync(segment(root))
    expect(() => openIn(root)).toThrow(/offsets 0 to 4 were on the disk/)
  })

  it('is cut where a tail is torn that never counted', async () => {
    const { root, size } = await written()
    appendFileSync(segment(root), new Uint8Array(size))
    const { values, disk, log } = openIn(root)
    expect(values.length).toBe(5)
    expect(readFileSync(segment(root)).length).toBe(5 * size)
    await disk.settled(log.close())
  })

  it('is opened as before when nobody knows how far it was flushed', async () => {
    const { root, flip } = await written()
    writeFileSync(join(root, METADATA_DIRECTORY, FLUSHED_OFFSET_FILE), '00000000000000000005 00000000\n')
    flip(3)
    expect(openIn(root).values.length).toBe(3)
  })
})

describe('the metadata log on a disk', () => {
  const openOn = (disk: TestDisk, options: Partial<MetadataLogOptions> = {}) =>
    replayed(new MetadataLog({ env: disk.env, storage: disk.storage, platform, ...options }))
  const replayed = (log: MetadataLog) => {
    log.replay(() => {})
    return log
  }
  const idle = (disk: TestDisk) => disk.settled(disk.another().syncDirectory(''))

  it('counts a decision once it is flushed, and flushes those that came meanwhile together', async () => {
    const disk = diskForTests()
    const log = openOn(disk)
    await idle(disk)
    const seen: number[] = []
    const all = new Promise<void>(resolve =>
      log.onHighWatermark(highWatermark => {
        seen.push(highWatermark)
        if (highWatermark === 10) resolve()
      }),
    )
    disk.calls.length = 0
    disk.env.event(() => {
      for (let index = 0; index < 10; index++) log.append([record('a=1')], 0)
    })
    expect(log.highWatermark).toBe(0)
    await all
    expect(seen).toEqual([1, 10])
    expect(disk.calls.filter(call => call === 'syncFile').length).toBeLessThanOrEqual(3)
    await disk.settled(log.close())
  })

  it('says so when an append fails, as when a flush does, and not when the disk is full', async () => {
    const disk = diskForTests()
    const failures: StorageFailure[] = []
    const log = openOn(disk, { onFailure: failure => failures.push(failure) })
    const append = () => disk.env.event(() => expect(() => log.append([record('a=1')], 0)).toThrow())
    const fails = (code: string) => () => {
      throw Object.assign(new Error(`${code}: as the test says`), { code })
    }
    disk.faults.writevAt = fails('ENOSPC')
    append()
    await idle(disk)
    expect(failures).toEqual([])
    disk.faults.writevAt = fails('EIO')
    append()
    append()
    await idle(disk)
    expect(failures).toEqual([{ code: 'IO', message: 'EIO: as the test says' }])
    delete disk.faults.writevAt
    append()
  })

  it('refuses every decision after a flush that failed, and says so once', async () => {
    const disk = diskForTests()
    const failures: StorageFailure[] = []
    let broken!: MetadataLog
    const log = openOn(disk, { onFailure: failure => failures.push(failure) })
    await disk.settled(log.close())
    const told = new Promise<void>(resolve => {
      broken = openOn(disk, { onFailure: failure => resolve(void failures.push(failure)) })
    })
    disk.faults.syncFile = () => Later.of(disk.env.turns, { code: 'EIO', message: 'broken' })
    disk.env.event(() => broken.append([record('a=1')], 0))
    await told
    expect(failures).toEqual([{ code: 'IO', message: 'broken' }])
    expect(() => broken.append([record('a=1')], 0)).toThrow(expect.objectContaining({ error: 'KAFKA_STORAGE_ERROR' }))
    expect(broken.highWatermark).toBe(0)
  })
})
