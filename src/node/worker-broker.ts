/**
 * The handle of a broker in a worker thread: starts the thread, turns calls into messages and messages into results, log
 * lines and errors. The broker itself is started by worker.ts.
 */
import { Worker } from 'node:worker_threads'
import type { StartedBroker } from './broker-handle.ts'
import { methodsBy } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import type { LogFunction } from './log.ts'
import type { BrokerFacts } from './running-broker.ts'
import { type Call, unpackError, type WorkerInput, type WorkerMessage } from './worker-messages.ts'

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** The thread as both the function that started it and the handle see it. */
interface Thread {
  readonly worker: Worker
  /** Calls without an answer, by their ids. */
  readonly waiting: Map<number, Waiting>
  /** True once it was asked to end. */
  closing: boolean
}

/** In the package the entry lies beside this file; in the repository it is made from the sources. */
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './worker-from-source.mjs' : './worker.js', import.meta.url)

/** Resolves when the broker in the new thread accepts connections, and throws what starting it threw there. */
export function startWorkerBroker(
  input: WorkerInput,
  log: LogFunction,
  onFatal: (error: Error) => void,
  entry = ENTRY,
): Promise<StartedBroker> {
  // Flags of this process, such as those of a test runner, are not for the broker; nor may it read our standard input.
  const worker = new Worker(entry, { workerData: input, execArgv: [], name: 'ottla' })
  return new Promise((resolve, reject) => {
    const thread: Thread = { worker, waiting: new Map(), closing: false }
    let started = false
    worker.on('message', (message: WorkerMessage) => {
      switch (message.type) {
        case 'started':
          started = true
          return resolve(new WorkerBroker(message.facts, thread))
        case 'failed':
          return reject(unpackError(message.error))
        case 'returned':
          return settle(thread, message.id, each => each.resolve(message.value))
        case 'threw':
          return settle(thread, message.id, each => each.reject(unpackError(message.error)))
        case 'log':
          return log(message.level, message.message, message.fields)
        case 'fatal':
          return onFatal(unpackError(message.error))
      }
    })
    let cause: unknown
    worker.on('error', error => {
      cause = error
    })
    worker.on('exit', code => {
      const stopped = new OttlaError('OTTLA_WORKER_STOPPED', `the worker thread of the broker ended (${code})`, {
        cause,
      })
      reject(stopped)
      for (const id of [...thread.waiting.keys()]) settle(thread, id, each => each.reject(stopped))
      if (!started || thread.closing) return
      log('error', `internal error: ${stopped.message}: ${cause}`, {})
      onFatal(stopped)
    })
  })
}

function settle(thread: Thread, id: number, how: (each: Waiting) => void): void {
  const each = thread.waiting.get(id)
  thread.waiting.delete(id)
  if (each !== undefined) how(each)
}

class WorkerBroker implements StartedBroker {
  readonly facts: BrokerFacts
  readonly methods = methodsBy((method, args) => this.#call(method, args))
  readonly #thread: Thread
  readonly #exited: Promise<void>
  #nextId = 1
  #gone = false

  constructor(facts: BrokerFacts, thread: Thread) {
    this.facts = facts
    this.#thread = thread
    this.#exited = new Promise(resolve => {
      thread.worker.once('exit', () => {
        this.#gone = true
        resolve()
      })
    })
  }

  /** A thread that ended by itself is as closed as can be. */
  async close(): Promise<void> {
    if (this.#gone) return
    this.#thread.closing = true
    try {
      await this.#call('close', [])
    } catch (error) {
      if ((error as OttlaError).code !== 'OTTLA_WORKER_STOPPED') throw error
    }
    await this.#exited
  }

  async #call(method: Call['method'], args: unknown[]): Promise<unknown> {
    if (this.#gone) throw new OttlaError('OTTLA_WORKER_STOPPED', 'the worker thread of the broker ended')
    const call: Call = { id: this.#nextId++, method, args }
    return new Promise((resolve, reject) => {
      this.#thread.waiting.set(call.id, { resolve, reject })
      this.#thread.worker.postMessage(call)
    })
  }
}
