// What becomes of the directories of logs when the storage says no.

import { expect, it } from 'vitest'
import { append, batchOf, platform } from '../../test/support/log.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { StorageError } from '../storage/storage.ts'
import { utf8Encode } from '../util/utf8.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { DEFAULT_LOG_CONFIG } from './log-config.ts'
import { LogDirectory } from './log-directory.ts'

/** A directory that keeps topic ids, as one on a disk does, and cannot rename anything as long as it is told so. */
class StubbornStorage extends MemoryStorage {
  isStubborn = false
  override readonly isVolatile = false as unknown as true

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
