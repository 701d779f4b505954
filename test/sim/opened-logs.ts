/**
 * Lets somebody look at each log in the moment in which it is opened, before anything is appended to it. The product has no such
 * hook, so `Log.open` is replaced while a simulation runs.
 */

import { Log } from '../../src/log/log.ts'
import type { Env } from '../../src/util/env.ts'

/** Calls `look` with each log that is opened; the function returned ends that. */
export function watchOpenedLogs(look: (log: Log, env: Env) => void): () => void {
  const original = Log.open
  Log.open = options => {
    const log = original.call(Log, options)
    look(log, options.env)
    return log
  }
  return () => {
    Log.open = original
  }
}
