/**
 * `startBroker`, the way in: checks the options, then starts a broker in this thread or in one of its own.
 */
import { BrokerHandle, type StartedBroker } from './broker-handle.ts'
import { startLocalBroker } from './local-broker.ts'
import { makeLog } from './log.ts'
import { type BrokerOptions, checkOptions } from './options.ts'
import type { RunningBroker } from './running-broker.ts'
import { startWorkerBroker } from './worker-broker.ts'
import { postedLevel } from './worker-messages.ts'

/**
 * Starts a broker in memory, or with `dataDir` on a directory, and resolves when it accepts connections. Many can run side by side.
 *
 * @throws OttlaError when an option is wrong (`OTTLA_INVALID_OPTION`, `OTTLA_UNKNOWN_CONFIG`, `OTTLA_INVALID_CONFIG`), the port
 * cannot be had (`OTTLA_PORT_IN_USE`, `OTTLA_LISTEN_FAILED`), or the directory (`OTTLA_DATA_DIR_LOCKED`, `OTTLA_DATA_DIR_TOO_NEW`,
 * `OTTLA_DATA_DIR_INVALID`, `OTTLA_DATA_DIR_DAMAGED`, `OTTLA_DATA_DIR_FAILED`).
 *
 * @example
 * await using broker = await startBroker({ topics: ['orders:12'] })
 * const kafka = new Kafka({ brokers: [broker.bootstrapServers] })
 */
export async function startBroker(options: BrokerOptions = {}): Promise<RunningBroker> {
  return new BrokerHandle(await launchBroker(options))
}

/** The same without a handle, for those who make their own. */
export async function launchBroker(options: BrokerOptions): Promise<StartedBroker> {
  const checked = checkOptions(options)
  const log = makeLog(options.log, options.logLevel)
  const onFatal = (error: Error) => {
    if (options.onFatal !== undefined) options.onFatal(error)
    // The log has it already, unless there is none: a mistake of ours is never swallowed.
    else if (options.log === false) process.emitWarning(error)
  }
  if (options.worker) {
    return startWorkerBroker({ type: 'broker', options: checked, logLevel: postedLevel(options) }, { log, onFatal })
  }
  return startLocalBroker(checked, log, onFatal)
}
