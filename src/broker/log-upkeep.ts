import type { Env } from '../util/env.ts'
import type { Timer } from '../util/timer-queue.ts'
import type { Partition } from './partition.ts'

/**
 * Sees to logs that nobody asks for: retention reaches them all, and those that a crash may have left broken are looked at soon
 * after the start, so that the next good stop is one. Logs are opened for that one after the other, with time between them for
 * whoever waits (what Kafka's `LogManager` does with a pool of threads, and for all at once at the start).
 */

export interface LogUpkeepOptions {
  readonly env: Env
  readonly partitions: () => Iterable<Partition>
  /** Whether there are files of a log that was not opened yet. */
  readonly hasLog: (topicPartition: string) => boolean
  /** Logs that a crash may have left broken. */
  readonly unchecked: () => ReadonlySet<string>
  /** The log start of a partition moved. */
  readonly retained: (partition: Partition) => void
}

/** How long after the start logs are looked at, and how long between two. */
const CHECK_AFTER_MS = 1000
const BETWEEN_MS = 20

export class LogUpkeep {
  readonly #options: LogUpkeepOptions
  readonly #waiting = new Set<Partition>()
  #timer: Timer | undefined
  #checkTimer: Timer | undefined

  constructor(options: LogUpkeepOptions) {
    this.#options = options
  }

  start(): void {
    const { env, partitions, unchecked } = this.#options
    this.#checkTimer = env.timer(CHECK_AFTER_MS, () => {
      for (const partition of partitions()) {
        if (partition.openedLog === undefined && unchecked().has(nameOf(partition))) this.#waiting.add(partition)
      }
      this.#next()
    })
  }

  /** Drops what retention no longer keeps: of logs that are open now, of the others one after the other. */
  applyRetention(): void {
    const { partitions, hasLog } = this.#options
    for (const partition of partitions()) {
      if (partition.openedLog !== undefined) this.#retain(partition)
      else if (!partition.failure && hasLog(nameOf(partition))) this.#waiting.add(partition)
    }
    this.#next()
  }

  #next(): void {
    if (this.#timer !== undefined || this.#waiting.size === 0) return
    this.#timer = this.#options.env.timer(BETWEEN_MS, () => {
      this.#timer = undefined
      const [partition] = this.#waiting
      this.#waiting.delete(partition)
      if (!partition.gone && partition.tryOpen()) this.#retain(partition)
      this.#next()
    })
  }

  #retain(partition: Partition): void {
    const { env, retained } = this.#options
    if ((partition.openedLog?.applyRetention(env.now()) ?? 0) > 0) retained(partition)
  }

  stop(): void {
    this.#timer?.cancel()
    this.#checkTimer?.cancel()
    this.#waiting.clear()
  }
}

function nameOf({ topic, index }: Partition): string {
  return `${topic}-${index}`
}
