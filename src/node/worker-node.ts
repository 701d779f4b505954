/**
 * One broker of a cluster that has a worker thread of its own, as the hub has it. Its messages to others come here, go over the network of the
 * hub, and on to the thread of whoever they are for: so the faults of links are in one place. In the thread is node-worker.ts.
 */
import type { ControllerMessageKind, PeerMessageKind } from '../broker/link.ts'
import type { Peer, Place } from '../cluster/place.ts'
import type { Witness } from '../cluster/witness.ts'
import { Later } from '../util/later.ts'
import type { OttlaError } from './errors.ts'
import type { LogFunction } from './log.ts'
import { nodeMethodsBy } from './node-calls.ts'
import type { ClusterNode } from './node-methods.ts'
import { LinkCalls, type NodeInput, type NodeMessage } from './port-messages.ts'
import type { SystemEnv } from './system-env.ts'
import type { WorkerInput } from './worker-messages.ts'
import { WorkerThread } from './worker-thread.ts'

/** A thread that does not even end its broker after this long is ended itself, with all that it has in memory. */
const KILL_MS = 10_000
/** Bringing logs to the disk takes its time; but nobody waits for ever. */
const CLOSE_MS = 60_000

export interface WorkerNodeOptions {
  readonly env: SystemEnv
  readonly place: Place
  readonly input: WorkerInput & NodeInput
  readonly log: LogFunction
  readonly onFatal: (error: Error) => void
  /** The thread ended by itself, and the broker with it. */
  readonly onDied: (error: OttlaError) => void
}

export class WorkerNode implements ClusterNode {
  readonly methods = nodeMethodsBy((method, args) => this.#ask(method, args))
  readonly #options: WorkerNodeOptions
  #thread: WorkerThread | undefined
  #links: LinkCalls | undefined
  #port = 0
  /** Who is told when a high watermark moves, by number. */
  readonly #watches = new Map<number, (highWatermark: number) => void>()
  #lastWatch = 0

  /** Resolves once the broker is there; it does not listen yet. */
  static async open(options: WorkerNodeOptions): Promise<WorkerNode> {
    const node = new WorkerNode(options)
    await node.#launch()
    return node
  }

  private constructor(options: WorkerNodeOptions) {
    this.#options = options
  }

  async #launch(): Promise<void> {
    const { env, place, input, log, onFatal, onDied } = this.#options
    const links: LinkCalls = new LinkCalls(env, (message, transfer) => starting.post(message, transfer), {
      send: (kind: ControllerMessageKind, request: never, timeoutMs?: number) =>
        place.link.send(kind, request, timeoutMs),
      sendToPeer: (to: number, kind: PeerMessageKind, request: never, timeoutMs: number) =>
        place.link.sendToPeer(to, kind, request, timeoutMs),
    })
    const starting = new WorkerThread(input, {
      owner: `broker ${place.id}`,
      log,
      onFatal,
      onMessage: (message: NodeMessage) => env.event(() => this.#receive(message, links)),
      onDied: error => {
        links.forget()
        onDied(error)
      },
    })
    this.#links = links
    this.#thread = starting
    await starting.started
  }

  #receive(message: NodeMessage, links: LinkCalls): void {
    const { place } = this.#options
    switch (message.type) {
      case 'attach':
        // Whoever was watched before is gone.
        this.#watches.clear()
        return place.attach(this.#peer(links))
      case 'detach':
        links.forget()
        return place.detach('stopped')
      case 'watched':
        return this.#watches.get(message.id)?.(message.value)
      default:
        return links.receive(message)
    }
  }

  #peer(links: LinkCalls): Peer {
    return {
      metadata: update => links.ask('metadata', update),
      receive: (kind, request) => links.ask('receive', kind, request),
      witness: this.#witness(),
    }
  }

  /** What is asked of it goes the way of calls: it is answered even by a broker that is about to end. */
  #witness(): Witness {
    const ask = <T>(method: string, ...args: unknown[]): Later<T> => {
      const { env } = this.#options
      const answer = new Later<T>(env.turns)
      this.#ask(method, args).then(
        value => env.event(() => answer.settle(value as T)),
        // A thread that ended tells nothing any more.
        () => {},
      )
      return answer
    }
    return {
      replicated: partitions => ask('replicated', partitions),
      held: (partition, had) => ask('held', partition, had),
      watch: (partition, told) => {
        const id = ++this.#lastWatch
        this.#watches.set(id, told)
        ask('watch', id, partition)
      },
    }
  }

  /** A thread that ended has forgotten what it was asked. */
  async #ask(method: string, args: unknown[]): Promise<unknown> {
    const thread = this.#thread as WorkerThread
    try {
      return await thread.call(method, args)
    } catch (error) {
      if (method === 'requests' && thread.isGone) return []
      throw error
    }
  }

  async listen(port: number): Promise<number> {
    this.#port = (await this.#ask('listen', [port])) as number
    return this.#port
  }

  async register(): Promise<void> {
    await this.#ask('register', [])
  }

  /**
   * Ends the broker within its thread, as one without a thread ends: what it had in memory is found when it is started again, and
   * what a power cut takes is known there alone.
   */
  async kill(powerLoss: boolean): Promise<void> {
    await this.#end('kill', [powerLoss])
  }

  async #end(how: 'kill' | 'halt', args: unknown[]): Promise<void> {
    const { input, log, place } = this.#options
    const thread = this.#thread as WorkerThread
    this.#links?.forget()
    const timer = setTimeout(() => {
      const lost = input.options.dataDir === undefined ? ', and all that it had in memory is lost' : ''
      log('error', `the thread of a broker that was killed does not answer, and is ended${lost}`, { broker: place.id })
      void thread.terminate()
    }, KILL_MS)
    try {
      await thread.call(how, args)
    } catch (error) {
      if (!thread.isGone) throw error
    } finally {
      clearTimeout(timer)
    }
  }

  async stop(): Promise<void> {
    await this.#ask('stop', [])
  }

  async start(): Promise<void> {
    if (!this.#thread?.isGone) return void (await this.#ask('start', []))
    await this.#launch()
    await this.listen(this.#port)
    await this.register()
  }

  async pause(): Promise<void> {
    await this.#ask('pause', [])
  }

  async resume(): Promise<void> {
    await this.#ask('resume', [])
  }

  async snapshot(id: number): Promise<void> {
    await this.#ask('snapshot', [id])
  }

  /** A thread that is gone has halted. */
  async halt(): Promise<void> {
    if (!this.#thread?.isGone) await this.#end('halt', [])
  }

  /** The snapshots of a thread that is gone are, too. */
  async begin(id?: number): Promise<void> {
    if (!this.#thread?.isGone || id !== undefined) return void (await this.#ask('begin', [id]))
    await this.start()
  }

  async close(): Promise<void> {
    await this.#thread?.close({ timeoutMs: CLOSE_MS })
  }
}
