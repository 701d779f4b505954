// The age of records without a time is that of their file, as in Kafka: on a disk it outlives the process.

import { statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { diskForTests } from '../../test/support/disk.ts'
import { append, batchOf, platform } from '../../test/support/log.ts'
import { Log } from './log.ts'
import { DEFAULT_LOG_CONFIG } from './log-config.ts'

it('retention by time goes by when the file was written, whenever the log was opened', async () => {
  const { root, env, storage, another, settled } = diskForTests()
  const config = { ...DEFAULT_LOG_CONFIG, retentionMs: 60_000 }
  const options = { directory: 't-0', config, env, platform, highWatermark: 1 }
  const log = Log.open({ ...options, storage })
  append(log, batchOf([{ timestamp: -1 }]), { now: env.now() })
  expect(await settled(log.close())).toBeUndefined()
  const path = join(root, 't-0', '00000000000000000000.log')
  expect(Math.abs(statSync(path).mtimeMs - env.now())).toBeLessThan(60_000)
  const open = (secondsAgo: number) => {
    const modified = env.now() / 1000 - secondsAgo
    utimesSync(path, modified, modified)
    return Log.open({ ...options, storage: another() })
  }
  expect(open(50).applyRetention(env.now())).toBe(0)
  expect(open(70).applyRetention(env.now())).toBe(1)
})
