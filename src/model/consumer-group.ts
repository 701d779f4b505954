// A group as one reader of several partitions: where it is (position), what it is done with (committed), how far behind it is (lag), and
// what happens when it goes back (seek) or when retention overtakes it. Members and rebalances are topic.ts's business.
// Follows the consumer's seek, offsetsForTimes and auto.offset.reset.

import { checkArray, checkChoice, checkCount, checkInteger, checkPartition } from './check.ts'
import { OffsetOutOfRangeError } from './errors.ts'
import type { Partition, Rec } from './partition.ts'

export type AutoOffsetReset = 'earliest' | 'latest' | 'none'

export type PolledRec<K, V> = Rec<K, V> & { partition: number }

/** What the group knows of one partition. */
interface Progress {
  position: number
  committed: number
  /** The end of what it has read so far, however often. */
  seen: number
  lost: number
}

/**
 * A group that reads `partitions`. It starts at the earliest record; with `autoOffsetReset: 'latest'` at the end; with `'none'` at offset 0,
 * and fails there if retention was faster.
 *
 * @example
 * const group = new ConsumerGroup([partition])
 * group.poll()
 * group.commit()
 * group.seek(0, 0) // the lag jumps back up: everything will be read again
 */
export class ConsumerGroup<K = string, V = unknown> {
  readonly #partitions: readonly Partition<K, V>[]
  readonly #autoOffsetReset: AutoOffsetReset
  readonly #progress: Progress[]

  constructor(partitions: readonly Partition<K, V>[], options: { autoOffsetReset?: AutoOffsetReset } = {}) {
    const { autoOffsetReset = 'earliest' } = options
    checkArray('partitions', partitions)
    this.#autoOffsetReset = checkChoice('autoOffsetReset', autoOffsetReset, 'earliest', 'latest', 'none')
    this.#partitions = [...partitions]
    this.#progress = partitions.map(partition => {
      const position = this.#autoOffsetReset === 'none' ? 0 : this.#resetOffset(partition)
      return { position, committed: 0, seen: 0, lost: 0 }
    })
  }

  /** The next records of all partitions, the lowest partition first. Commits nothing. */
  poll(max = 100): PolledRec<K, V>[] {
    return this.#read([...this.#partitions.keys()], max)
  }

  /**
   * The next records of one partition.
   *
   * @throws OffsetOutOfRangeError if retention has passed the position and `autoOffsetReset` is `'none'`
   */
  pollPartition(p: number, max = 100): PolledRec<K, V>[] {
    this.#check(p)
    return this.#read([p], max)
  }

  /** Reads first and moves positions last, so that a partition that cannot be read leaves the others where they are. */
  #read(numbers: number[], max: number): PolledRec<K, V>[] {
    checkCount('max', max)
    const records: PolledRec<K, V>[] = []
    const moved = new Map<number, Progress>()
    for (const p of numbers) {
      const room = max - records.length
      if (room === 0) break
      const progress = this.#withinLog(p)
      const read = this.#partitions[p].read(progress.position, room)
      for (const record of read) records.push({ partition: p, ...record })
      // A reader that got less than it asked for has also passed the holes at the end.
      const position = read.length < room ? this.#partitions[p].endOffset : read[read.length - 1].offset + 1
      moved.set(p, { ...progress, position, seen: Math.max(progress.seen, position) })
    }
    for (const [p, progress] of moved) this.#progress[p] = progress
    return records
  }

  /** The progress from which to read: as it is, or reset if its position is not in the log any more (or not yet). */
  #withinLog(p: number): Progress {
    const partition = this.#partitions[p]
    const progress = this.#progress[p]
    const { startOffset, endOffset } = partition
    if (progress.position >= startOffset && progress.position <= endOffset) return progress
    if (this.#autoOffsetReset === 'none') throw new OffsetOutOfRangeError(progress.position, startOffset, endOffset)
    const position = this.#resetOffset(partition)
    return { ...progress, position, lost: progress.lost + unseen(progress, position) }
  }

  #resetOffset(partition: Partition<K, V>): number {
    return this.#autoOffsetReset === 'latest' ? partition.endOffset : partition.startOffset
  }

  /** The offset of the next record the group reads. */
  position(p: number): number {
    return this.#check(p).position
  }

  /** The committed offset, 0 if there is none. */
  committed(p: number): number {
    return this.#check(p).committed
  }

  /** Commits the positions of all partitions. */
  commit(): void {
    for (const progress of this.#progress) progress.committed = progress.position
  }

  /** Everything through this offset is done: commits the offset after it, unless more is committed already. Moves no position. */
  commitThrough(p: number, offset: number): void {
    const progress = this.#check(p)
    checkInteger('offset', offset, 0, Number.MAX_SAFE_INTEGER - 1)
    progress.committed = Math.max(progress.committed, offset + 1)
  }

  /** Replay: reads on from this offset. It commits nothing, but a `commit()` afterwards lowers the committed offset too. */
  seek(p: number, offset: number): void {
    const progress = this.#check(p)
    progress.position = checkCount('offset', offset)
  }

  /** Reads on from the first record that is not older than this time, or from the end if there is none. */
  seekToTime(p: number, ms: number): void {
    const progress = this.#check(p)
    checkCount('ms', ms)
    const partition = this.#partitions[p]
    const records = partition.read(partition.startOffset, partition.length)
    progress.position = records.find(record => record.timestamp >= ms)?.offset ?? partition.endOffset
  }

  /** How many offsets lie between the position and the end, of one partition or in all. */
  lag(p?: number): number {
    return this.#behind(p, 'position')
  }

  /** The same from the committed offset: the figure that operators watch. */
  committedLag(p?: number): number {
    return this.#behind(p, 'committed')
  }

  #behind(p: number | undefined, from: 'position' | 'committed'): number {
    if (p === undefined) return this.#partitions.reduce((sum, _, i) => sum + this.#behind(i, from), 0)
    const progress = this.#check(p)
    const { startOffset, endOffset } = this.#partitions[p]
    return endOffset - Math.max(progress[from], startOffset)
  }

  /** How many offsets retention (or a reset to the latest) took before the group had read them. */
  lost(p: number): number {
    const progress = this.#check(p)
    return progress.lost + unseen(progress, this.#partitions[p].startOffset)
  }

  #check(p: number): Progress {
    return this.#progress[checkPartition(p, this.#partitions.length)]
  }
}

/** What a jump to `offset` passes over that was not read before. */
function unseen(progress: Progress, offset: number): number {
  return Math.max(0, offset - Math.max(progress.position, progress.seen))
}
