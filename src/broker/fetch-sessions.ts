import { KafkaError } from '../protocol/errors.ts'
import type { Env } from '../util/env.ts'

/**
 * Incremental fetch sessions (KIP-227): the broker remembers which partitions a consumer fetches and answers only what
 * changed (`FetchSession`, `FetchManager`). A session is never owed: without a free slot the consumer is told id 0.
 */

/** One partition as the request asks for it. */
export interface FetchTarget {
  /** As the request named it: the name is empty in versions with topic ids, the id zero in those before. */
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  currentLeaderEpoch: number
  fetchOffset: number
  lastFetchedEpoch: number
  maxBytes: number
}

/** What was last told of a partition, so that only changes are told again. */
export interface CachedTarget extends FetchTarget {
  highWatermark: number
  logStartOffset: number
  /** The name under which a topic id was known when the partition was added. */
  resolvedTopic: string | undefined
}

const EVICTION_MS = 120_000
const LAST_EPOCH = 2_147_483_647

export class FetchSession {
  readonly id: number
  readonly usesTopicIds: boolean
  readonly targets = new Map<string, CachedTarget>()
  nextEpoch = 1
  lastUsed: number

  constructor(id: number, usesTopicIds: boolean, now: number) {
    this.id = id
    this.usesTopicIds = usesTopicIds
    this.lastUsed = now
  }

  /** Adds and changes partitions. */
  update(targets: readonly FetchTarget[], resolve: (topicId: string) => string | undefined): void {
    for (const target of targets) {
      const key = targetKey(target)
      const present = this.targets.get(key)
      if (present === undefined) {
        const resolvedTopic = target.topic || resolve(target.topicId)
        this.targets.set(key, { ...target, highWatermark: -1, logStartOffset: -1, resolvedTopic })
        continue
      }
      present.currentLeaderEpoch = target.currentLeaderEpoch
      present.fetchOffset = target.fetchOffset
      present.lastFetchedEpoch = target.lastFetchedEpoch
      present.maxBytes = target.maxBytes
    }
  }

  forget(target: { topic: string; topicId: string; partition: number }): void {
    this.targets.delete(targetKey(target))
  }

  /** Who got data goes behind the others, so that all get their turn. */
  moveToEnd(target: CachedTarget): void {
    const key = targetKey(target)
    this.targets.delete(key)
    this.targets.set(key, target)
  }
}

export function targetKey(target: { topic: string; topicId: string; partition: number }): string {
  return `${target.topic || target.topicId}/${target.partition}`
}

export class FetchSessions {
  readonly #env: Env
  readonly #slots: () => number
  readonly #sessions = new Map<number, FetchSession>()

  constructor(env: Env, slots: () => number) {
    this.#env = env
    this.#slots = slots
  }

  get size(): number {
    return this.#sessions.size
  }

  /** A new session for a full fetch of `size` partitions, or undefined when there is no slot for it. */
  open(usesTopicIds: boolean, size: number): FetchSession | undefined {
    const now = this.#env.now()
    if (this.#sessions.size >= this.#slots() && !this.#evict(now, size)) return undefined
    const session = new FetchSession(this.#newId(), usesTopicIds, now)
    this.#sessions.set(session.id, session)
    return session
  }

  /** The session with this id, without using it. */
  find(id: number): FetchSession | undefined {
    return this.#sessions.get(id)
  }

  /** The session that an incremental fetch continues; its epoch moves on. */
  continue(id: number, epoch: number, usesTopicIds: boolean): FetchSession {
    const session = this.#sessions.get(id)
    if (session === undefined) throw new KafkaError('FETCH_SESSION_ID_NOT_FOUND')
    if (session.nextEpoch !== epoch) throw new KafkaError('INVALID_FETCH_SESSION_EPOCH')
    if (session.usesTopicIds !== usesTopicIds) throw new KafkaError('FETCH_SESSION_TOPIC_ID_ERROR')
    session.nextEpoch = epoch === LAST_EPOCH ? 1 : epoch + 1
    session.lastUsed = this.#env.now()
    return session
  }

  close(id: number): void {
    this.#sessions.delete(id)
  }

  /** Frees a slot: from a session that idles, or from one that is smaller than the newcomer. */
  #evict(now: number, size: number): boolean {
    for (const session of this.#sessions.values()) {
      if (now - session.lastUsed > EVICTION_MS || session.targets.size < size) {
        this.#sessions.delete(session.id)
        return true
      }
    }
    return false
  }

  #newId(): number {
    for (;;) {
      const id = 1 + Math.floor(this.#env.random() * (LAST_EPOCH - 1))
      if (!this.#sessions.has(id)) return id
    }
  }
}
