/**
 * The handle of a broker in a worker thread: starts the thread, turns calls into messages and messages into results, log
 * lines and errors. The broker itself is started by worker.ts.
 */
import { Worker } from 'node:worker_threads'
import { OttlaError } from './errors.ts'
import type { LogFunction } from './log.ts'
import type { BrokerFacts, RunningBroker } from './running-broker.ts'
import { type BrokerMethod, type Call, unpackError, type WorkerInput, type WorkerMessage } from './worker-messages.ts'

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** In the package the entry lies beside this file; in the repository it is made from the sources. */
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './worker-from-source.mjs' : './worker.js', import.meta.url)

/** Resolves when the broker in the new thread accepts connections, and throws what starting it threw there. */
export function startWorkerBroker(
  input: WorkerInput,
  log: LogFunction,
  onFatal: (error: Error) => void,
  entry = ENTRY,
): Promise<RunningBroker> {
  // Flags of this process, such as those of a test runner, are not for the broker; nor may it read our standard input.
  const worker = new Worker(entry, { workerData: input, execArgv: [], name: 'ottla' })
  return new Promise((resolve, reject) => {
    const waiting = new Map<number, Waiting>()
    let started = false
    worker.on('message', (message: WorkerMessage) => {
      switch (message.type) {
        case 'started':
          started = true
          return resolve(new WorkerBroker(message.facts, worker, waiting))
        case 'failed':
          return reject(unpackError(message.error))
        case 'returned':
          return settle(waiting, message.id, each => each.resolve(message.value))
        case 'threw':
          return settle(waiting, message.id, each => each.reject(unpackError(message.error)))
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
      for (const id of [...waiting.keys()]) settle(waiting, id, each => each.reject(stopped))
      if (started && cause !== undefined) onFatal(stopped)
    })
  })
}

function settle(waiting: Map<number, Waiting>, id: number, how: (each: Waiting) => void): void {
  const each = waiting.get(id)
  waiting.delete(id)
  if (each !== undefined) how(each)
}

class WorkerBroker implements RunningBroker {
  readonly bootstrapServers: string
  readonly host: string
  readonly port: number
  readonly clusterId: string
  readonly #worker: Worker
  readonly #waiting: Map<number, Waiting>
  readonly #exited: Promise<void>
  #nextId = 1
  #closing: Promise<void> | undefined
  #gone = false

  constructor(facts: BrokerFacts, worker: Worker, waiting: Map<number, Waiting>) {
    this.bootstrapServers = facts.bootstrapServers
    this.host = facts.host
    this.port = facts.port
    this.clusterId = facts.clusterId
    this.#worker = worker
    this.#waiting = waiting
    this.#exited = new Promise(resolve => {
      worker.once('exit', () => {
        this.#gone = true
        resolve()
      })
    })
  }

  async requests() {
    if (this.#closing !== undefined) throw new OttlaError('OTTLA_BROKER_CLOSED', 'the broker is closed')
    return this.#call('requests') as ReturnType<RunningBroker['requests']>
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** A thread that ended by itself is as closed as can be. */
  async #close(): Promise<void> {
    if (this.#gone) return
    try {
      await this.#call('close')
    } catch (error) {
      if ((error as OttlaError).code !== 'OTTLA_WORKER_STOPPED') throw error
    }
    await this.#exited
  }

  #call(method: BrokerMethod): Promise<unknown> {
    if (this.#gone) throw new OttlaError('OTTLA_WORKER_STOPPED', 'the worker thread of the broker ended')
    const call: Call = { id: this.#nextId++, method }
    return new Promise((resolve, reject) => {
      this.#waiting.set(call.id, { resolve, reject })
      this.#worker.postMessage(call)
    })
  }
}
