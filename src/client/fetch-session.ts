/**
 * The client's half of a fetch session with one broker (KIP-227): after a first full request only what changed is sent. It
 * builds the session part of a request and learns from the response; it sends nothing. Follows FetchSessionHandler.
 */

import { byTopic, groupBy } from './topic-partition.ts'

/** One partition as a fetch asks for it. */
export interface FetchTarget {
  readonly topic: string
  readonly topicId: string
  readonly partition: number
  readonly fetchOffset: number
  readonly currentLeaderEpoch: number
  readonly lastFetchedEpoch: number
  readonly partitionMaxBytes: number
}

export interface SessionRequest {
  readonly sessionId: number
  readonly sessionEpoch: number
  readonly send: readonly FetchTarget[]
  readonly forget: readonly FetchTarget[]
}

const NO_SESSION = 0
const FIRST_EPOCH = 0
const FINAL_EPOCH = -1

export class FetchSession {
  readonly #enabled: boolean
  #sessionId = NO_SESSION
  #epoch = FIRST_EPOCH
  /** What the broker knows of, as it was last told. */
  #known = new Map<string, FetchTarget>()

  /** @param enabled false does without sessions. */
  constructor(enabled = true) {
    this.#enabled = enabled
  }

  get sessionId(): number {
    return this.#sessionId
  }

  /** The next request, for exactly `targets`. */
  next(targets: readonly FetchTarget[]): SessionRequest {
    const before = this.#known
    this.#known = new Map(targets.map(target => [keyOf(target), target]))
    const sessionId = this.#sessionId
    if (!this.#enabled) return { sessionId, sessionEpoch: FINAL_EPOCH, send: targets, forget: [] }
    if (this.#epoch === FIRST_EPOCH) return { sessionId, sessionEpoch: FIRST_EPOCH, send: targets, forget: [] }
    const send = targets.filter(target => !isSame(before.get(keyOf(target)), target))
    const forget = [...before].filter(([key]) => !this.#known.has(key)).map(([, target]) => target)
    return { sessionId, sessionEpoch: this.#epoch, send, forget }
  }

  /** The request that ends the session; undefined when there is none. */
  last(): SessionRequest | undefined {
    if (this.#sessionId === NO_SESSION) return undefined
    return { sessionId: this.#sessionId, sessionEpoch: FINAL_EPOCH, send: [], forget: [] }
  }

  /** The broker answered without an error of the session; id 0 means that it keeps none. */
  answered(sessionId: number): void {
    const goesOn = sessionId !== NO_SESSION
    this.#epoch = goesOn ? (this.#epoch === 0x7fffffff ? 1 : this.#epoch + 1) : FIRST_EPOCH
    this.#sessionId = sessionId
  }

  /** The broker does not know the session, or nobody knows what it knows: the next request is a full one. */
  failed(code: string): void {
    this.#epoch = FIRST_EPOCH
    // A full request that names the old session ends it; one that the broker has forgotten needs no end.
    if (code === 'FETCH_SESSION_ID_NOT_FOUND') this.#sessionId = NO_SESSION
  }
}

function keyOf({ topicId, topic, partition }: FetchTarget): string {
  return `${topicId} ${topic}:${partition}`
}

function isSame(before: FetchTarget | undefined, target: FetchTarget): boolean {
  return (
    before !== undefined &&
    before.fetchOffset === target.fetchOffset &&
    before.currentLeaderEpoch === target.currentLeaderEpoch &&
    before.lastFetchedEpoch === target.lastFetchedEpoch &&
    before.partitionMaxBytes === target.partitionMaxBytes
  )
}

/** The topics of a request, as one version of Fetch says them. */
export function fetchTopics({ send }: SessionRequest, version: number) {
  return [...groupBy(send, each => `${each.topicId} ${each.topic}`).values()].map(targets => ({
    topic: targets[0].topic,
    topicId: targets[0].topicId,
    partitions: targets.map(target => ({
      partition: target.partition,
      fetchOffset: target.fetchOffset,
      currentLeaderEpoch: target.currentLeaderEpoch,
      partitionMaxBytes: target.partitionMaxBytes,
      ...(version >= 12 ? { lastFetchedEpoch: target.lastFetchedEpoch } : {}),
    })),
  }))
}

export function forgottenTopics({ forget }: SessionRequest) {
  return [...groupBy(forget, each => each.topicId)].flatMap(([topicId, targets]) =>
    [...byTopic(targets)].map(([topic, partitions]) => ({ topic, topicId, partitions })),
  )
}
