/**
 * Replicas that are offline although their brokers live, because their logs failed. The controller knows of them as long as neither it nor
 * the broker is started again: then the broker tries its disk anew, and says so again if need be (soft state, as the offline directories
 * in the heartbeats of Kafka's brokers).
 */
export class FailedReplicas {
  readonly #byBroker = new Map<number, Set<string>>()

  add(brokerId: number, topicId: string, partitionId: number): void {
    const failed = this.#byBroker.get(brokerId) ?? new Set<string>()
    this.#byBroker.set(brokerId, failed.add(`${topicId}-${partitionId}`))
  }

  has(brokerId: number, topicId: string, partitionId: number): boolean {
    return this.#byBroker.get(brokerId)?.has(`${topicId}-${partitionId}`) ?? false
  }

  /** The broker was started again. */
  forget(brokerId: number): void {
    this.#byBroker.delete(brokerId)
  }
}
