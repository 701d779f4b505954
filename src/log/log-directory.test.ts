// What becomes of the directories of logs when the storage says no.

import { expect, it } from 'vitest'
import { append, batchOf, platform } from '../../test/support/log.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { readWhole } from '../storage/read-whole.ts'
import { StorageError } from '../storage/storage.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { DEFAULT_LOG_CONFIG } from './log-config.ts'
import { LogDirectory } from './log-directory.ts'
import { CHECKPOINT_FILES } from './root-files.ts'

/** A directory that keeps topic ids, as one on a disk does, and cannot rename anything as long as it is told so. */
class StubbornStorage extends MemoryStorage {
  isStubborn = false
  override readonly isVolatile = false as unknown as true
  readonly replaced: string[] = []

  override replace(path: string, bytes: Uint8Array) {
    this.replaced.push(path)
    return super.replace(path, bytes)
  }

  override open(path: string, options?: Parameters<MemoryStorage['open']>[1]) {
    if (this.isStubborn && path.endsWith('partition.metadata')) throw new StorageError('IO', `EIO: read ${path}`)
    return super.open(path, options)
  }

  override rename(from: string, to: string): void {
    if (this.isStubborn) throw new StorageError('IO', `EIO: rename ${from}`)
    super.rename(from, to)
  }
}

const ID = 'AAAAAAAAAAAAAAAAAAAAAQ'
const OTHER_ID = 'AAAAAAAAAAAAAAAAAAAAAg'

it('forgets a deleted log that cannot be moved out of the way, and sets it aside when its name is wanted', () => {
  const env = new VirtualEnv()
  const storage = new StubbornStorage({ turns: env.turns })
  const directory = new LogDirectory({ storage, env })
  const open = (id: string) => directory.open('t-0', id, { config: DEFAULT_LOG_CONFIG, platform })
  append(open(ID), batchOf([{ value: utf8Encode('x') }]))
  env.settle()
  storage.isStubborn = true
  directory.delete('t-0', ID)
  env.settle()
  expect(env.lines.at(-1)).toMatchObject({ level: 'warn', message: 'cannot move a deleted log out of the way' })
  storage.isStubborn = false
  expect(open(OTHER_ID).logEndOffset).toBe(0)
  expect(storage.list('').filter(name => name.endsWith('-stray')).length).toBe(1)
})

it('leaves logs where they are whose topics cannot be read, at the start and when they are deleted', () => {
  const env = new VirtualEnv()
  const storage = new StubbornStorage({ turns: env.turns })
  const open = (name: string, id: string) =>
    new LogDirectory({ storage, env }).open(name, id, { config: DEFAULT_LOG_CONFIG, platform })
  append(open('t-0', ID), batchOf([{ value: null }]))
  append(open('t-1', ID), batchOf([{ value: null }]))
  env.settle()
  const next = new LogDirectory({ storage, env })
  storage.isStubborn = true
  next.setStraysAside(() => false)
  next.delete('t-0', ID)
  env.settle()
  expect(storage.list('').filter(name => name.startsWith('t-'))).toEqual(['t-0', 't-1'])
  expect(env.lines.filter(({ level }) => level === 'warn').map(({ message }) => message)).toEqual([
    'cannot see whether a topic has the log, or set it aside',
    'cannot see whether a topic has the log, or set it aside',
    'cannot move a deleted log out of the way',
  ])
  storage.isStubborn = false
  next.setStraysAside(() => false)
  expect(storage.list('').filter(name => name.endsWith('-stray')).length).toBe(2)
})

it('begins a log under the name of a deleted one as a new one, while what was known of that is still being written', () => {
  const env = new VirtualEnv()
  const storage = new StubbornStorage({ turns: env.turns })
  const directory = new LogDirectory({ storage, env })
  const open = (id: string) => directory.open('t-0', id, { config: DEFAULT_LOG_CONFIG, platform })
  const log = open(ID)
  for (const text of ['a', 'b', 'c']) append(log, batchOf([{ value: utf8Encode(text) }]))
  log.deleteRecordsBefore(2)
  env.settle()
  // A write is under way, and does not know yet what comes now.
  log.deleteRecordsBefore(3)
  directory.delete('t-0', ID)
  const next = open(OTHER_ID)
  expect([next.logStartOffset, next.logEndOffset, next.highWatermark]).toEqual([0, 0, 0])
  env.settle()
  const written = readWhole(storage, CHECKPOINT_FILES.logStartOffset) as Uint8Array
  expect(utf8Decode(written)).toBe('0\n0\n')
})

it('tells where a log begins for good once that is written down, or the files before are gone for good', () => {
  const env = new VirtualEnv()
  const storage = new StubbornStorage({ turns: env.turns })
  const open = () => new LogDirectory({ storage, env }).open('t-0', ID, { config: DEFAULT_LOG_CONFIG, platform })
  const log = open()
  for (const text of ['a', 'b', 'c']) append(log, batchOf([{ value: utf8Encode(text) }]))
  env.settle()
  log.deleteRecordsBefore(2)
  expect([log.logStartOffset, log.durableStartOffset]).toEqual([2, 0])
  expect(log.notingStart).toBeDefined()
  env.settle()
  expect([log.durableStartOffset, log.notingStart]).toEqual([2, undefined])
  log.truncateFullyAndStartAt(100)
  expect([log.logStartOffset, log.durableStartOffset]).toEqual([100, 2])
  env.settle()
  expect(log.durableStartOffset).toBe(100)
  // A process that was killed may have removed files without a word.
  storage.remove(CHECKPOINT_FILES.logStartOffset)
  env.settle()
  const next = open()
  expect([next.logStartOffset, next.durableStartOffset]).toEqual([100, 0])
  env.settle()
  expect(next.durableStartOffset).toBe(100)
})

it('writes its checkpoints once when many logs go together', () => {
  const env = new VirtualEnv()
  const storage = new StubbornStorage({ turns: env.turns })
  const directory = new LogDirectory({ storage, env })
  for (let index = 0; index < 50; index++) {
    append(directory.open(`t-${index}`, ID, { config: DEFAULT_LOG_CONFIG, platform }), batchOf([{ value: null }]))
  }
  directory.checkpoint()
  env.settle()
  storage.replaced.length = 0
  for (let index = 0; index < 50; index++) directory.delete(`t-${index}`, ID)
  env.settle()
  expect(storage.replaced).toEqual([CHECKPOINT_FILES.recoveryPoint])
})
