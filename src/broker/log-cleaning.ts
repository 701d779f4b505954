import { LogCleaner } from '../log/cleaner/log-cleaner.ts'
import type { Storage } from '../storage/storage.ts'
import type { Env } from '../util/env.ts'
import type { BrokerConfig } from './configs/broker-config.ts'
import { cleanerConfigOf } from './configs/log-config.ts'
import type { Purgatory } from './purgatory.ts'
import type { Replicas } from './replicas.ts'

/**
 * The cleaner of one broker. It goes over the logs that are open: one that nobody has asked for since the start has nothing new. As
 * in Kafka it is also the cleaner that has retention applied to compacted logs, each time before it looks for one to clean.
 */
export function logCleanerOf(options: {
  env: Env
  storage: Storage
  config: BrokerConfig
  replicas: Replicas
  purgatory: Purgatory
}): LogCleaner {
  const { env, storage, config, replicas, purgatory } = options
  const compacted = function* () {
    for (const partition of replicas.all()) if (partition.openedLog?.config.compact) yield partition
  }
  return new LogCleaner({
    env,
    storage,
    config: () => cleanerConfigOf(config),
    *logs() {
      for (const { openedLog } of compacted()) {
        // Nothing is to be done in the others, and where time is moved by weeks they are looked at again and again.
        if (openedLog?.mayNeedCleaning) yield openedLog.cleanable
      }
    },
    applyRetention() {
      for (const partition of compacted()) {
        const log = partition.openedLog
        // Without another segment there is nothing to drop, unless the active one is to be.
        if (!log || (log.segmentCount === 1 && !log.config.delete)) continue
        if (log.applyRetention(env.now()) > 0) purgatory.wake(partition.key)
      }
    },
  })
}
