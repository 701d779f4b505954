import type { ReplicaFetchRequest, ReplicaFetchTarget } from '../link.ts'
import type { Partition } from '../partition.ts'

/**
 * Both ends of incremental fetch sessions between replicas (KIP-227; Kafka's `FetchSessionHandler` and `FetchSession`): a follower names only the
 * partitions of which it asks something else than in the fetch before, and the leader remembers the others. The fetches of a follower are a
 * chain, in which each names the one that it continues: where that is not the last that the leader has seen, everything is named again.
 */

/** A fetch that continues none, and so names all. */
const NO_FETCH = 0

/** By what both ends know a partition: its `Partition.key`. */
export function keyOf({ topicId, partitionId }: { topicId: string; partitionId: number }): string {
  return `${topicId}-${partitionId}`
}

/** The follower's end: what its leader knows once it has all fetches that were sent. */
export class ToldTargets {
  readonly #told = new Map<string, ReplicaFetchTarget>()
  #number = NO_FETCH

  /** How the fetch of this number says that `targets`, by their keys, are all that is asked for now. */
  tell(
    number: number,
    targets: ReadonlyMap<string, ReplicaFetchTarget>,
  ): Pick<ReplicaFetchRequest, 'continues' | 'partitions' | 'forgotten'> {
    const continues = this.#number
    this.#number = number
    const partitions: ReplicaFetchTarget[] = []
    for (const [key, target] of targets) {
      const told = this.#told.get(key)
      if (told !== undefined && isSame(told, target)) continue
      this.#told.set(key, target)
      partitions.push(target)
    }
    const forgotten: string[] = []
    if (this.#told.size > targets.size) {
      for (const key of this.#told.keys()) if (!targets.has(key)) forgotten.push(key)
      for (const key of forgotten) this.#told.delete(key)
    }
    return { continues, partitions, forgotten }
  }

  /** What the leader knows is not known. */
  forget(): void {
    this.#told.clear()
    this.#number = NO_FETCH
  }
}

function isSame(one: ReplicaFetchTarget, other: ReplicaFetchTarget): boolean {
  return (
    one.fetchOffset === other.fetchOffset &&
    one.highWatermark === other.highWatermark &&
    one.logStartOffset === other.logStartOffset &&
    one.currentLeaderEpoch === other.currentLeaderEpoch &&
    one.lastFetchedEpoch === other.lastFetchedEpoch &&
    one.maxBytes === other.maxBytes
  )
}

/** A partition that a follower fetches, and this broker's replica of it where it leads. */
export interface FetchedPartition {
  readonly target: ReplicaFetchTarget
  partition: Partition | undefined
}

/** The leader's end: what one follower asks for. */
export class FollowerSession {
  readonly brokerEpoch: number
  /** The last fetch that it knows. */
  number: number
  readonly partitions = new Map<string, FetchedPartition>()

  constructor(brokerEpoch: number, number: number) {
    this.brokerEpoch = brokerEpoch
    this.number = number
  }

  /** These had their turn: where there is more than fits into an answer, the next one begins with others. */
  putLast(keys: readonly string[]): void {
    for (const key of keys) {
      const fetched = this.partitions.get(key)
      if (fetched === undefined) continue
      this.partitions.delete(key)
      this.partitions.set(key, fetched)
    }
  }
}

/** The sessions of a leader's followers. */
export class FollowerSessions {
  readonly #byFollower = new Map<number, FollowerSession>()

  /** What the follower asks for with this fetch; undefined when the one is not known that it continues. */
  continue(request: ReplicaFetchRequest): FollowerSession | undefined {
    const { replicaId, brokerEpoch, continues, number } = request
    let session = this.#byFollower.get(replicaId)
    if (continues === NO_FETCH) {
      session = new FollowerSession(brokerEpoch, number)
      this.#byFollower.set(replicaId, session)
    } else if (session?.number !== continues || session.brokerEpoch !== brokerEpoch) return undefined
    session.number = number
    for (const key of request.forgotten) session.partitions.delete(key)
    for (const target of request.partitions) {
      session.partitions.set(keyOf(target), { target, partition: undefined })
    }
    return session
  }
}
