/**
 * Looks at committed offsets again and again while brokers fail, as anybody's dashboard does, and remembers what it saw.
 */
import { type Admin, Kafka, logLevel } from 'kafkajs'

const EVERY_MS = 500

export class CommitWatch {
  readonly #admin: Admin
  readonly #seen = new Map<string, number[]>()
  readonly #done: Promise<void>
  #isStopped = false

  constructor(bootstrapServers: string, groups: readonly { group: string; topic: string }[], partitions: number) {
    const kafka = new Kafka({
      clientId: 'failover-commit-watch',
      brokers: bootstrapServers.split(','),
      logLevel: logLevel.NOTHING,
      retry: { initialRetryTime: 100, maxRetryTime: 500, retries: 30 },
    })
    this.#admin = kafka.admin()
    this.#done = this.#watch(groups, partitions)
  }

  async #watch(groups: readonly { group: string; topic: string }[], partitions: number): Promise<void> {
    await this.#admin.connect()
    while (!this.#isStopped) {
      for (const { group, topic } of groups) {
        // A look that fails while a coordinator is away is none.
        const [found] = await this.#admin.fetchOffsets({ groupId: group, topics: [topic] }).catch(() => [])
        for (let partition = 0; found !== undefined && partition < partitions; partition++) {
          const offset = found.partitions.find(each => each.partition === partition)?.offset
          if (offset !== undefined) this.seen(group, partition).push(Number(offset))
        }
      }
      await new Promise(resolve => setTimeout(resolve, EVERY_MS))
    }
    await this.#admin.disconnect()
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
