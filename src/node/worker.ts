/**
 * The entry of a worker thread that runs one broker. It answers the calls of its handle (worker-broker.ts) and posts log
 * lines; when the broker is closed nothing is left here and the thread ends by itself.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { StartedBroker } from './broker-handle.ts'
import { callMethod } from './broker-methods.ts'
import { startLocalBroker } from './local-broker.ts'
import { type LogFunction, makeLog } from './log.ts'
import { type Call, packError, type WorkerInput, type WorkerMessage } from './worker-messages.ts'

const { options, logLevel } = workerData as WorkerInput
const log: LogFunction = (level, message, fields) => post({ type: 'log', level, message, fields })

function post(message: WorkerMessage): void {
  parentPort?.postMessage(message)
}

async function answer(broker: StartedBroker, { id, method, args }: Call, listener: (call: Call) => void) {
  try {
    const value = await (method === 'close' ? broker.close() : callMethod(broker.methods, method, args))
    post({ type: 'returned', id, value })
  } catch (error) {
    post({ type: 'threw', id, error: packError(error) })
  }
  // A port that nobody listens to keeps no thread. Deno has no way to close it.
  if (method === 'close') parentPort?.off('message', listener)
}

try {
  const broker = await startLocalBroker(options, makeLog(logLevel !== undefined && log, logLevel), error =>
    post({ type: 'fatal', error: packError(error) }),
  )
  const listener = (call: Call) => void answer(broker, call, listener)
  parentPort?.on('message', listener)
  post({ type: 'started', facts: broker.facts })
} catch (error) {
  post({ type: 'failed', error: packError(error) })
}
