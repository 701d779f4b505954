/**
 * Looks at committed offsets again and again while brokers fail, as anybody's dashboard does, and remembers what it saw.
 *
 * A broker that is cut off takes itself for the coordinator until it hears otherwise, and answers from what it knew then, as Kafka's do. So a
 * look counts only when it was answered by whom the controller had named before.
 */
import { type Admin, Kafka, logLevel } from 'kafkajs'

const EVERY_MS = 500

export interface CommitWatchOptions {
  bootstrapServers: string
  groups: readonly { group: string; topic: string }[]
  partitions: number
  /** The address of the coordinator of a group, by the controller's word. */
  coordinatorOf: (group: string) => Promise<string>
}

export class CommitWatch {
  readonly #admin: Admin
  readonly #options: CommitWatchOptions
  readonly #seen = new Map<string, number[]>()
  readonly #done: Promise<void>
  #isStopped = false

  /** Who was last asked for offsets. */
  #asked = ''

  constructor(options: CommitWatchOptions) {
    this.#options = options
    const kafka = new Kafka({
      clientId: 'failover-commit-watch',
      brokers: options.bootstrapServers.split(','),
      logLevel: logLevel.NOTHING,
      retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 30 },
    })
    this.#admin = kafka.admin()
    this.#admin.on('admin.network.request', ({ payload }) => {
      if (payload.apiName === 'OffsetFetch') this.#asked = payload.broker
    })
    this.#done = this.#watch()
  }

  async #watch(): Promise<void> {
    await this.#admin.connect()
    while (!this.#isStopped) {
      for (const { group, topic } of this.#options.groups) await this.#look(group, topic)
      await new Promise(resolve => setTimeout(resolve, EVERY_MS))
    }
    await this.#admin.disconnect()
  }

  async #look(group: string, topic: string): Promise<void> {
    // A look that fails while a coordinator is away is none.
    const coordinator = await this.#options.coordinatorOf(group).catch(() => undefined)
    const [found] = await this.#admin.fetchOffsets({ groupId: group, topics: [topic] }).catch(() => [])
    if (found === undefined || this.#asked !== coordinator) return
    for (let partition = 0; partition < this.#options.partitions; partition++) {
      const offset = found.partitions.find(each => each.partition === partition)?.offset
      if (offset !== undefined) this.seen(group, partition).push(Number(offset))
    }
  }

  /** What was seen of a group's committed offset, in order; −1 is none. */
  seen(group: string, partition: number): number[] {
    const key = `${group}/${partition}`
    const seen = this.#seen.get(key) ?? []
    this.#seen.set(key, seen)
    return seen
  }

  stop(): Promise<void> {
    this.#isStopped = true
    return this.#done
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }
}
