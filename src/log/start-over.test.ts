// A log that begins anew elsewhere, as that of a follower which the leader's has left behind.

import { expect, it } from 'vitest'
import { append, batchOf, platform } from '../../test/support/log.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { StorageError } from '../storage/storage.ts'
import { utf8Encode } from '../util/utf8.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { Log } from './log.ts'
import { DEFAULT_LOG_CONFIG } from './log-config.ts'

class FullStorage extends MemoryStorage {
  isFull = false

  override open(path: string, options: { create: boolean; exempt?: boolean }) {
    if (this.isFull && options.create && !this.exists(path)) throw new StorageError('NO_SPACE', `ENOSPC: open ${path}`)
    return super.open(path, options)
  }
}

function start() {
  const env = new VirtualEnv()
  const storage = new FullStorage({ turns: env.turns })
  const config = { ...DEFAULT_LOG_CONFIG, segmentBytes: 200 }
  const log = Log.open({ storage, directory: 't-0', env, platform, config })
  for (let index = 0; index < 6; index++) append(log, batchOf([{ value: utf8Encode('xxxxxxxxxx') }]))
  env.settle()
  return { env, storage, log }
}

it('stays as it was where there is no room for a new segment', () => {
  const { storage, log } = start()
  const { segmentCount, sizeInBytes } = log
  storage.isFull = true
  expect(() => log.truncateFullyAndStartAt(100)).toThrow('ENOSPC')
  expect(log).toMatchObject({ logStartOffset: 0, logEndOffset: 6, segmentCount, sizeInBytes, failure: undefined })
  storage.isFull = false
  log.truncateFullyAndStartAt(100)
  expect(log).toMatchObject({ logStartOffset: 100, logEndOffset: 100, segmentCount: 1, sizeInBytes: 0 })
})

it('may begin where one of its segments does, for which there is room always', () => {
  const { storage, log } = start()
  expect(log.segmentCount).toBeGreaterThan(2)
  storage.isFull = true
  const { activeSegmentOffset } = log
  log.truncateFullyAndStartAt(activeSegmentOffset)
  expect(log).toMatchObject({ logStartOffset: activeSegmentOffset, logEndOffset: activeSegmentOffset, segmentCount: 1 })
  append(log, batchOf([{ value: utf8Encode('y') }]))
  expect(log.logEndOffset).toBe(activeSegmentOffset + 1)
})
