/**
 * A worker thread as whoever started it has it: calls become messages, and messages become results, log lines and errors. What runs
 * there is said by the input, see worker.ts.
 */
import { type Transferable, Worker } from 'node:worker_threads'
import { isOfEndedThread, OttlaError } from './errors.ts'
import type { LogFunction } from './log.ts'
import { type Call, unpackError, type WorkerInput, type WorkerMessage } from './worker-messages.ts'

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

export interface WorkerThreadOptions {
  /** Whose thread it is, for messages: `the broker`. */
  readonly owner: string
  readonly log: LogFunction
  readonly onFatal: (error: Error) => void
  /** Takes what is neither of a call nor for the log. */
  readonly onMessage?: (message: never) => void
  /** The thread ended without being asked to. */
  readonly onDied?: (error: OttlaError) => void
  /** Another entry, for tests. */
  readonly entry?: URL
}

/** The entry, seen from the files of the package that start it (dist/node, dist/bin); in the repository it is made from the sources. */
const ENTRY = new URL(
  import.meta.url.endsWith('.ts') ? './worker-from-source.mjs' : '../node/worker.js',
  import.meta.url,
)

export class WorkerThread {
  /**
   * Resolves when what was to be started runs, with what there is to know of it.
   *
   * @throws what starting it threw there
   */
  readonly started: Promise<unknown>
  readonly #worker: Worker
  readonly #options: WorkerThreadOptions
  /** Calls without an answer, by their ids. */
  readonly #waiting = new Map<number, Waiting>()
  /** Undefined once it has started, or has not. */
  #starting: Waiting | undefined
  /** What starting threw. */
  #failure: Error | undefined
  readonly #exited: Promise<void>
  #nextId = 1
  #isGone = false
  /** It was asked to end. */
  #isEnding = false

  constructor(input: WorkerInput, options: WorkerThreadOptions) {
    this.#options = options
    // Flags of this process, such as those of a test runner, are not for the broker; nor may it read our standard input.
    const worker = new Worker(options.entry ?? ENTRY, { workerData: input, execArgv: [], name: 'ottla' })
    this.#worker = worker
    worker.on('message', (message: WorkerMessage) => this.#receive(message))
    let cause: unknown
    worker.on('error', error => {
      cause = error
    })
    this.started = new Promise((resolve, reject) => {
      this.#starting = { resolve, reject }
    })
    this.#exited = new Promise(resolve => {
      worker.on('exit', code => {
        this.#ended(code, cause)
        resolve()
      })
    })
  }

  #receive(message: WorkerMessage): void {
    switch (message.type) {
      case 'started':
        this.#starting?.resolve(message.facts)
        this.#starting = undefined
        return
      case 'failed':
        // Told once nothing is left of it.
        this.#failure = unpackError(message.error)
        return void this.terminate()
      case 'returned':
        return this.#take(message.id)?.resolve(message.value)
      case 'threw':
        return this.#take(message.id)?.reject(unpackError(message.error))
      case 'log':
        return this.#options.log(message.level, message.message, message.fields)
      case 'fatal':
        return this.#options.onFatal(unpackError(message.error))
      default:
        return this.#options.onMessage?.(message as never)
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }

  #ended(code: number, cause: unknown): void {
    this.#isGone = true
    const { owner, log, onFatal, onDied } = this.#options
    const text = `the worker thread of ${owner} ended (${code})`
    const stopped = new OttlaError('OTTLA_WORKER_STOPPED', text, { cause })
    for (const id of [...this.#waiting.keys()]) this.#take(id)?.reject(stopped)
    if (this.#starting !== undefined) return this.#starting.reject(this.#failure ?? stopped)
    if (this.#isEnding) return
    log('error', `internal error: ${stopped.message}: ${cause}`, {})
    onDied?.(stopped)
    onFatal(stopped)
  }

  get isGone(): boolean {
    return this.#isGone
  }

  /** @throws OttlaError `OTTLA_WORKER_STOPPED` when the thread ended, and whatever the method throws there */
  async call(method: string, args: unknown[]): Promise<unknown> {
    if (this.#isGone) throw new OttlaError('OTTLA_WORKER_STOPPED', `the worker thread of ${this.#options.owner} ended`)
    const call: Call = { type: 'call', id: this.#nextId++, method, args }
    return new Promise((resolve, reject) => {
      this.#waiting.set(call.id, { resolve, reject })
      this.#worker.postMessage(call)
    })
  }

  post(message: unknown, transfer: readonly Transferable[] = []): void {
    if (!this.#isGone) this.#worker.postMessage(message, transfer)
  }

  /** Closes what runs there, and resolves once the thread has ended; one that has not after `timeoutMs` is ended. */
  async close({ timeoutMs }: { timeoutMs?: number } = {}): Promise<void> {
    if (this.#isGone) return
    this.#isEnding = true
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => void this.terminate(), timeoutMs)
    try {
      await this.call('close', [])
      await this.#exited
    } catch (error) {
      // A thread that ended by itself is as closed as can be.
      if (!isOfEndedThread(error)) throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the thread at once. */
  async terminate(): Promise<void> {
    this.#isEnding = true
    await this.#worker.terminate()
  }
}
