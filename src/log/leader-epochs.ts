/**
 * Which leader epoch wrote from which offset on: the history by which a follower finds out where it left its leader
 * (KIP-101, KIP-279; Kafka's `LeaderEpochFileCache`). Epochs and their start offsets only grow.
 */

export interface EpochEntry {
  epoch: number
  /** The first offset that this epoch wrote, or will write. */
  startOffset: number
}

/** What OffsetForLeaderEpoch answers; −1 for both where nothing is known. */
export interface EpochEndOffset {
  leaderEpoch: number
  endOffset: number
}

export class LeaderEpochs {
  #entries: EpochEntry[] = []

  get entries(): readonly EpochEntry[] {
    return this.#entries
  }

  /** −1 when there is none. */
  get latestEpoch(): number {
    return this.#entries.at(-1)?.epoch ?? -1
  }

  /**
   * Notes that `epoch` begins at `startOffset`, unless it is known already. Entries that contradict it (a later epoch, or
   * one that begins later) give way. Says whether anything changed.
   */
  assign(epoch: number, startOffset: number): boolean {
    const latest = this.#entries.at(-1)
    if (latest && latest.epoch === epoch && latest.startOffset <= startOffset) return false
    while (this.#entries.length > 0) {
      const last = this.#entries[this.#entries.length - 1]
      if (last.epoch < epoch && last.startOffset < startOffset) break
      this.#entries.pop()
    }
    this.#entries.push({ epoch, startOffset })
    return true
  }

  /** Where `epoch`, or the last known one before it, ended. */
  endOffsetFor(epoch: number, logEndOffset: number): EpochEndOffset {
    if (epoch >= 0 && epoch === this.latestEpoch) return { leaderEpoch: epoch, endOffset: logEndOffset }
    const next = this.#entries.findIndex(entry => entry.epoch > epoch)
    if (epoch < 0 || next < 0) return { leaderEpoch: -1, endOffset: -1 }
    const known = this.#entries[next - 1]
    return { leaderEpoch: known?.epoch ?? epoch, endOffset: this.#entries[next].startOffset }
  }

  /** The epoch that wrote `offset`, or undefined when its history is gone. */
  epochFor(offset: number): number | undefined {
    return this.#entries.findLast(entry => entry.startOffset <= offset)?.epoch
  }

  /** Forgets what begins at or behind `endOffset`. Says whether anything changed. */
  truncateFromEnd(endOffset: number): boolean {
    const kept = this.#entries.filter(entry => entry.startOffset < endOffset)
    const changed = kept.length < this.#entries.length
    this.#entries = kept
    return changed
  }

  /** Forgets what ended before `startOffset`; the epoch that wrote that offset begins there now. */
  truncateFromStart(startOffset: number): boolean {
    const kept = this.#entries.filter(entry => entry.startOffset > startOffset)
    const first = this.#entries[this.#entries.length - kept.length - 1]
    if (first === undefined || (kept.length === this.#entries.length - 1 && first.startOffset === startOffset))
      return false
    this.#entries = [{ epoch: first.epoch, startOffset }, ...kept]
    return true
  }

  clear(): void {
    this.#entries = []
  }
}
