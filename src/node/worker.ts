/**
 * The entry of a worker thread that runs one broker, alone or of a cluster. It answers calls (worker-thread.ts) and posts log
 * lines; when the broker is closed nothing is left here and the thread ends by itself.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { callMethod } from './broker-methods.ts'
import { startLocalBroker } from './local-broker.ts'
import { type LogFunction, makeLog } from './log.ts'
import { type NodeWorker, startNodeWorker } from './node-worker.ts'
import type { LinkMessage } from './port-messages.ts'
import { type Call, packError, type WorkerInput, type WorkerMessage } from './worker-messages.ts'

/** What runs here. */
interface Running extends Partial<Pick<NodeWorker, 'receive'>>, Pick<NodeWorker, 'call'> {
  readonly facts?: unknown
}

const input = workerData as WorkerInput

function post(message: WorkerMessage): void {
  parentPort?.postMessage(message)
}

async function start(): Promise<Running> {
  const posted: LogFunction = (level, message, fields) => post({ type: 'log', level, message, fields })
  const log = makeLog(input.logLevel !== undefined && posted, input.logLevel)
  const onFatal = (error: Error) => post({ type: 'fatal', error: packError(error) })
  if (input.type === 'node') {
    return startNodeWorker(input, {
      log,
      onFatal,
      post: (message, transfer) => parentPort?.postMessage(message, transfer),
    })
  }
  const broker = await startLocalBroker(input.options, log, onFatal)
  return {
    facts: broker.facts,
    call: (method, args) => (method === 'close' ? broker.close() : callMethod(broker.methods, method, args)),
  }
}

async function answer(running: Running, { id, method, args }: Call, listener: (message: Call | LinkMessage) => void) {
  try {
    post({ type: 'returned', id, value: await running.call(method, args) })
  } catch (error) {
    post({ type: 'threw', id, error: packError(error) })
  }
  // A port that nobody listens to keeps no thread. Deno has no way to close it.
  if (method === 'close') parentPort?.off('message', listener)
}

try {
  const running = await start()
  const listener = (message: Call | LinkMessage) => {
    if (message.type === 'call') void answer(running, message, listener)
    else running.receive?.(message)
  }
  parentPort?.on('message', listener)
  post({ type: 'started', facts: running.facts })
} catch (error) {
  post({ type: 'failed', error: packError(error) })
}
