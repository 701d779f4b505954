/**
 * The handle of a broker that has a worker thread of its own. The broker itself is started by worker.ts.
 */
import type { StartedBroker } from './broker-handle.ts'
import { methodsBy } from './broker-methods.ts'
import type { BrokerFacts } from './running-broker.ts'
import type { WorkerInput } from './worker-messages.ts'
import { WorkerThread, type WorkerThreadOptions } from './worker-thread.ts'

/** Resolves when the broker in the new thread accepts connections, and throws what starting it threw there. */
export async function startWorkerBroker(
  input: WorkerInput & { type: 'broker' },
  options: Pick<WorkerThreadOptions, 'log' | 'onFatal' | 'entry'>,
): Promise<StartedBroker> {
  const thread = new WorkerThread(input, { ...options, owner: 'the broker' })
  return {
    facts: (await thread.started) as BrokerFacts,
    methods: methodsBy((method, args) => thread.call(method, args)),
    close: () => thread.close(),
  }
}
