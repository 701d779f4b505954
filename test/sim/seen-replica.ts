/**
 * A replica as it was when somebody looked last, to tell cheaply whether there is anything new to check: most events of a simulation
 * change no log at all.
 */

import type { Broker } from '../../src/broker/broker.ts'
import type { Partition } from '../../src/broker/partition.ts'
import type { Log } from '../../src/log/log.ts'

export class SeenReplica {
  readonly partition: Partition
  #log: Log | undefined
  #isOffline = false
  #startOffset = -1
  #endOffset = -1
  #highWatermark = -1
  #flushedOffset = -1

  constructor(partition: Partition) {
    this.partition = partition
  }

  /** It counts as changed the next time. */
  forget(): void {
    this.#log = undefined
  }

  /** True when something of its log is not as it was the last time, or was not looked at yet. */
  hasChanged(): boolean {
    const { failure, openedLog } = this.partition
    const isOffline = failure !== undefined
    if (openedLog === undefined) {
      const isNew = this.#log !== undefined || this.#isOffline !== isOffline
      this.#log = undefined
      this.#isOffline = isOffline
      return isNew
    }
    const { logStartOffset, logEndOffset, highWatermark, flushedOffset } = openedLog
    if (
      this.#log === openedLog &&
      this.#endOffset === logEndOffset &&
      this.#highWatermark === highWatermark &&
      this.#flushedOffset === flushedOffset &&
      this.#startOffset === logStartOffset
    ) {
      return false
    }
    this.#log = openedLog
    this.#isOffline = isOffline
    this.#startOffset = logStartOffset
    this.#endOffset = logEndOffset
    this.#highWatermark = highWatermark
    this.#flushedOffset = flushedOffset
    return true
  }
}

/** All replicas of one broker. */
export class SeenBroker {
  #broker: Broker | undefined
  #metadataOffset = -1
  #replicas: readonly SeenReplica[] = []

  /**
   * Calls `changed` with each partition whose replica is not as it was: also with those that are there no more. Undefined stands
   * for a broker that nobody can look at now.
   */
  look(broker: Broker | undefined, changed: (partition: Partition) => void): void {
    // Which replicas there are, who leads them and in which epoch, changes by metadata alone.
    const metadataOffset = broker?.metadataOffset ?? -1
    if (broker !== this.#broker || metadataOffset !== this.#metadataOffset) {
      for (const { partition } of this.#replicas) changed(partition)
      this.#broker = broker
      this.#metadataOffset = metadataOffset
      this.#replicas = broker === undefined ? [] : [...broker.replicas.all()].map(each => new SeenReplica(each))
      for (const each of this.#replicas) {
        each.hasChanged()
        changed(each.partition)
      }
      return
    }
    for (const each of this.#replicas) if (each.hasChanged()) changed(each.partition)
  }

  /** What is known of it otherwise has changed: the next look finds it changed, if its log is open. */
  lookAgain(key: string): void {
    for (const each of this.#replicas) if (each.partition.key === key) each.forget()
  }
}
