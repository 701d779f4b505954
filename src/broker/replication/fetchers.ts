import type { Partition } from '../partition.ts'
import { type FetcherContext, ReplicaFetcher } from './replica-fetcher.ts'

/** One fetcher per leader, for the partitions that this broker follows (`ReplicaFetcherManager`). */
export class Fetchers {
  readonly #context: FetcherContext
  readonly #byLeader = new Map<number, ReplicaFetcher>()
  readonly #leaders = new Map<string, number>()
  #lastNumber = 0

  constructor(context: FetcherContext) {
    this.#context = context
  }

  /** A partition of this broker is as the controller says now. */
  update(partition: Partition): void {
    const { leader } = partition.image
    if (partition.gone || partition.isLeader || leader < 0) return this.remove(partition.key)
    if (this.#leaders.get(partition.key) !== leader) this.remove(partition.key)
    let fetcher = this.#byLeader.get(leader)
    if (fetcher === undefined) {
      fetcher = new ReplicaFetcher(leader, this.#context, () => ++this.#lastNumber)
      this.#byLeader.set(leader, fetcher)
    }
    this.#leaders.set(partition.key, leader)
    fetcher.add(partition)
  }

  remove(key: string): void {
    const leader = this.#leaders.get(key)
    if (leader === undefined) return
    this.#leaders.delete(key)
    const fetcher = this.#byLeader.get(leader)
    fetcher?.remove(key)
    if (!fetcher?.isIdle) return
    fetcher.stop()
    this.#byLeader.delete(leader)
  }

  stop(): void {
    for (const fetcher of this.#byLeader.values()) fetcher.stop()
    this.#byLeader.clear()
  }
}
