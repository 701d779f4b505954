import { afterFetch, type FollowerProgress, isCaughtUp, NO_PROGRESS } from '../../core/replication.ts'
import type { PartitionImage } from '../metadata/image.ts'

/**
 * What a leader knows of its followers, for as long as it leads: how far their logs reach, who keeps up, and which in-sync replicas it has
 * asked the controller for (`Partition.remoteReplicas`, `PartitionState`). It decides nothing about bytes.
 */

interface Follower {
  progress: FollowerProgress
  /** Under which registration it last fetched; −1 before it did. */
  brokerEpoch: number
}

/** The leader's log and its limits, at one moment. */
export interface LeaderView {
  readonly logEndOffset: number
  readonly highWatermark: number
  readonly now: number
  readonly lagTimeMaxMs: number
}

/** Says whether a broker may be in sync; an epoch of −1 is any. */
export type IsEligible = (brokerId: number, brokerEpoch: number) => boolean

export class Leadership {
  readonly leaderEpoch: number
  readonly #brokerId: number
  readonly #followers = new Map<number, Follower>()
  #image: PartitionImage
  /** What was asked for and not yet answered. */
  #proposed: readonly number[] | undefined
  /** Where the log ended when this leadership began; set when it is opened. */
  epochStartOffset = 0

  constructor(brokerId: number, image: PartitionImage, now: number) {
    this.#brokerId = brokerId
    this.leaderEpoch = image.leaderEpoch
    this.#image = image
    // Who is in sync gets the full time to fetch from the new leader.
    for (const id of image.replicas) this.#add(id, image.isr.includes(id) ? now : 0)
  }

  #add(id: number, lastCaughtUpTime: number): void {
    if (id === this.#brokerId || this.#followers.has(id)) return
    this.#followers.set(id, { progress: { ...NO_PROGRESS, lastCaughtUpTime }, brokerEpoch: -1 })
  }

  /** The controller decided something about the partition, in the same epoch. */
  update(image: PartitionImage): void {
    if (image.partitionEpoch > this.#image.partitionEpoch) this.#proposed = undefined
    this.#image = image
    for (const id of image.replicas) this.#add(id, 0)
    for (const id of this.#followers.keys()) if (!image.replicas.includes(id)) this.#followers.delete(id)
  }

  get hasFollowers(): boolean {
    return this.#followers.size > 0
  }

  /** In-sync replicas, and those that may be so already by what was asked: all of them count for the high watermark. */
  get maximalIsr(): readonly number[] {
    const { isr } = this.#image
    const added = this.#proposed?.filter(id => !isr.includes(id)) ?? []
    return added.length === 0 ? isr : [...isr, ...added]
  }

  /** How far a follower is, as far as is known. */
  progressOf(id: number): FollowerProgress | undefined {
    return this.#followers.get(id)?.progress
  }

  /** A follower fetches: false when it is none of this partition's, as far as is known here. */
  fetched(
    id: number,
    brokerEpoch: number,
    fetch: { fetchOffset: number; logStartOffset: number; leaderEndOffset: number; now: number },
  ): boolean {
    const follower = this.#followers.get(id)
    if (follower === undefined || brokerEpoch < follower.brokerEpoch) return false
    follower.progress = afterFetch(follower.progress, fetch)
    follower.brokerEpoch = brokerEpoch
    return true
  }

  /**
   * What all have who are in sync; whoever is about to join them counts, too, so that the high watermark does not run away from a
   * follower that has nearly caught up.
   */
  highWatermark(leader: LeaderView, isEligible: IsEligible): number {
    let offset = leader.logEndOffset
    const maximalIsr = this.maximalIsr
    for (const [id, { progress, brokerEpoch }] of this.#followers) {
      if (progress.logEndOffset >= offset) continue
      const counts = maximalIsr.includes(id) || (isCaughtUp(progress, leader) && isEligible(id, brokerEpoch))
      if (counts) offset = progress.logEndOffset
    }
    return offset
  }

  /** The smallest start of any replica's log, with the leader's own: what is below is deleted everywhere. */
  lowWatermark(logStartOffset: number, isAlive: (id: number) => boolean): number {
    let offset = logStartOffset
    for (const [id, { progress }] of this.#followers) {
      if (isAlive(id)) offset = Math.min(offset, Math.max(0, progress.logStartOffset))
    }
    return offset
  }

  /** The in-sync replicas with this follower, when it has caught up and may be among them. */
  grown(id: number, leader: LeaderView, isEligible: IsEligible): readonly number[] | undefined {
    const { isr } = this.#image
    const follower = this.#followers.get(id)
    if (this.#proposed !== undefined || follower === undefined || isr.includes(id)) return undefined
    const { logEndOffset } = follower.progress
    if (logEndOffset < leader.highWatermark || logEndOffset < this.epochStartOffset) return undefined
    return isEligible(id, follower.brokerEpoch) ? [...isr, id] : undefined
  }

  /** The in-sync replicas without those who have not kept up. */
  shrunk(leader: LeaderView): readonly number[] | undefined {
    if (this.#proposed !== undefined) return undefined
    const { isr } = this.#image
    const kept = isr.filter(id => {
      const follower = this.#followers.get(id)
      return follower === undefined || isCaughtUp(follower.progress, leader)
    })
    return kept.length === isr.length ? undefined : kept
  }

  /** Notes what is asked for: nothing else is asked until there is an answer. */
  propose(isr: readonly number[]): void {
    this.#proposed = isr
  }

  get proposed(): readonly number[] | undefined {
    return this.#proposed
  }

  /** The controller said no: nothing was asked for. */
  withdraw(): void {
    this.#proposed = undefined
  }

  /** With the registrations under which they fetch, as the controller wants to know. */
  withEpochs(isr: readonly number[], ownEpoch: number): { brokerId: number; brokerEpoch: number }[] {
    return isr.map(brokerId => ({
      brokerId,
      brokerEpoch: brokerId === this.#brokerId ? ownEpoch : (this.#followers.get(brokerId)?.brokerEpoch ?? -1),
    }))
  }
}
