/**
 * What is in a log stays there: no offset is ever used for other bytes, nothing that was promised is lost in a crash, and the
 * high watermark and the log start never go back. The promise is docs/durability.md: a killed process loses nothing that was
 * appended; a power cut nothing that was flushed, which with `flush: 'commit'` is all below the high watermark.
 */

import type { Broker } from '../../../src/broker/broker.ts'
import { isInternalTopic } from '../../../src/broker/internal-topics.ts'
import type { Partition } from '../../../src/broker/partition.ts'
import type { Log } from '../../../src/log/log.ts'
import type { Env } from '../../../src/util/env.ts'
import type { BrokerProcess } from '../broker-process.ts'
import { type Checker, type HistoryEvent, Violation } from '../history.ts'
import { type ObservedBatch, ObservedLog, readObserved } from '../observed-log.ts'
import { SeenBroker } from '../seen-replica.ts'
import { GOOD_DAY } from '../simulated-disk.ts'
import { compactionFault } from './compacted.ts'

const NAME = 'log contents'

/** What a log was when it was opened. */
interface Opening {
  readonly logStartOffset: number
  readonly logEndOffset: number
  /** Undefined when it could not be read. */
  readonly batches: readonly ObservedBatch[] | undefined
}

export class LogContents implements Checker {
  readonly name = NAME
  readonly #processes: readonly BrokerProcess[]
  readonly #flush: 'os' | 'commit'
  readonly #keepsDeletions: boolean
  readonly #compacted: ReadonlySet<string>
  readonly #appended: (log: ObservedLog, batch: ObservedBatch) => void
  readonly #lost: (log: ObservedLog, batches: readonly ObservedBatch[]) => void
  readonly #logs = new Map<string, ObservedLog>()
  readonly #seen = new Map<BrokerProcess, SeenBroker>()
  readonly #openings = new WeakMap<Log, Opening>()

  constructor(options: {
    processes: readonly BrokerProcess[]
    flush: 'os' | 'commit'
    /** What DeleteRecords deleted stays so: not with a disk that takes no more, where its note cannot be written. */
    keepsDeletions: boolean
    /** The topics whose older records of a key may go. */
    compacted: ReadonlySet<string>
    /** Told of each batch that is new in a log. */
    appended: (log: ObservedLog, batch: ObservedBatch) => void
    /** Told of batches that a crash took, as it may. */
    lost: (log: ObservedLog, batches: readonly ObservedBatch[]) => void
  }) {
    this.#processes = options.processes
    this.#flush = options.flush
    this.#keepsDeletions = options.keepsDeletions
    this.#compacted = options.compacted
    this.#appended = options.appended
    this.#lost = options.lost
  }

  /** A log was opened, and nothing was done with it yet. */
  opened(log: Log, env: Env): void {
    const process = this.#processes.find(each => each.env === env)
    if (process === undefined) return
    const { logStartOffset, logEndOffset } = log
    quietly(process, () => {
      this.#openings.set(log, { logStartOffset, logEndOffset, batches: readObserved(log, logStartOffset) })
    })
  }

  get logs(): ObservedLog[] {
    return [...this.#logs.values()]
  }

  /** The logs of a partition, one for each time that its topic was created. */
  of(topic: string, partition: number): ObservedLog[] {
    return this.logs.filter(log => log.topic === topic && log.partition === partition)
  }

  step(): void {
    for (const process of this.#processes) {
      let seen = this.#seen.get(process)
      if (seen === undefined) {
        seen = new SeenBroker()
        this.#seen.set(process, seen)
      }
      const broker = process.running?.broker
      seen.look(broker, partition => {
        if (broker !== undefined) this.#look(process, broker, partition)
      })
    }
  }

  #look(process: BrokerProcess, broker: Broker, partition: Partition): void {
    if (broker.replicas.find(partition.topicId, partition.index) !== partition) return
    const log = partition.openedLog
    if (partition.failure !== undefined) this.#offline(partition)
    else if (log !== undefined) quietly(process, () => this.#observe(partition, log))
  }

  #isCompacted(topic: string): boolean {
    return isInternalTopic(topic) || this.#compacted.has(topic)
  }

  /** Opens the logs that nobody has used since the start. */
  openAll(): void {
    for (const process of this.#processes) {
      process.env?.enter(() => {
        for (const partition of process.running?.broker.replicas.all() ?? []) {
          quietly(process, () => this.#observe(partition, partition.log))
        }
      })
    }
  }

  /** Looks at all logs as a whole. */
  healed(): void {
    for (const process of this.#processes) {
      for (const partition of process.running?.broker.replicas.all() ?? []) {
        quietly(process, () => this.#observeWhole(partition, partition.log))
      }
    }
  }

  /** All of it, also what was there before. */
  #observeWhole(partition: Partition, log: Log): void {
    this.#observe(partition, log)
    const observed = this.#logs.get(`${partition.topicId}-${partition.index}`) as ObservedLog
    const found = readObserved(log, log.logStartOffset)
    if (found === undefined || observed.isDamaged) return
    this.#demandSame(observed, found, log.logStartOffset, log.logEndOffset)
    if (log.highWatermark < observed.highWatermark) {
      this.#fail(
        observed,
        `high watermark was ${observed.highWatermark} before a crash, and stays at ${log.highWatermark}`,
      )
    }
  }

  event(event: HistoryEvent): void {
    if (event.type === 'crashing') {
      for (const log of this.#logs.values()) {
        const durable = this.#flush === 'commit' ? Math.max(log.highWatermark, log.flushedOffset) : log.flushedOffset
        // Struck in the middle of a turn, it may have opened the log and appended to it in that turn.
        if (log.crashed && !log.isGone) log.mayBeRewritten = true
        log.crashed = true
        log.isStale = !log.isGone
        if (event.kind === 'power' && this.#flush === 'os') log.mayHaveLost = true
        log.promisedOffset = Math.min(log.promisedOffset, event.kind === 'power' ? durable : log.endOffset)
      }
    } else if (event.type === 'topicDeleted') {
      for (const log of this.#logs.values()) if (log.topic === event.topic) this.#gone(log)
    } else if (event.type === 'recordsDeleted' && this.#keepsDeletions) {
      const log = this.of(event.topic, event.partition).findLast(({ isGone }) => !isGone)
      if (log === undefined) return
      log.deletedUpTo = Math.max(log.deletedUpTo, event.offset)
      for (const seen of this.#seen.values()) seen.lookAgain(`${log.topicId}-${log.partition}`)
    }
  }

  /** What it took last before it failed cannot be read. */
  #offline({ topicId, index }: Partition): void {
    const observed = this.#logs.get(`${topicId}-${index}`)
    if (observed !== undefined) observed.isStale = true
  }

  #gone(log: ObservedLog): void {
    log.isGone = true
    log.isStale = false
  }

  #observe(partition: Partition, log: Log): void {
    const key = `${partition.topicId}-${partition.index}`
    let observed = this.#logs.get(key)
    if (observed === undefined) {
      observed = new ObservedLog(
        partition.topic,
        partition.topicId,
        partition.index,
        this.#isCompacted(partition.topic),
      )
      observed.log = log
      this.#logs.set(key, observed)
    }
    // Checksums do not cover offsets: nothing is certain of this one any more but what readers are given.
    if (observed.isDamaged) {
      observed.isStale = false
      return
    }
    if (observed.log !== log) this.#reopened(observed, log)
    this.#watermarks(observed, log)
    if (log.logEndOffset < observed.endOffset) {
      this.#fail(observed, `ends at ${log.logEndOffset}, and ended at ${observed.endOffset} before`)
    }
    const from = Math.max(observed.endOffset, log.logStartOffset)
    if (log.logEndOffset > from) {
      const batches = readObserved(log, from)
      for (const batch of batches ?? []) this.#append(observed, batch)
    }
    observed.startOffset = log.logStartOffset
    observed.highWatermark = Math.max(observed.highWatermark, log.highWatermark)
    observed.flushedOffset = Math.max(observed.flushedOffset, Math.min(log.flushedOffset, observed.endOffset))
    observed.promisedOffset = observed.endOffset
  }

  #append(observed: ObservedLog, batch: ObservedBatch): void {
    if (batch.baseOffset < observed.endOffset) {
      this.#fail(observed, `offset ${batch.baseOffset} again, the log ended at ${observed.endOffset}`)
    }
    observed.append(batch)
    this.#appended(observed, batch)
  }

  #watermarks(observed: ObservedLog, log: Log): void {
    if (log.logStartOffset < observed.startOffset) {
      this.#fail(observed, `log start went from ${observed.startOffset} back to ${log.logStartOffset}`)
    }
    if (log.logStartOffset < observed.deletedUpTo) {
      this.#fail(observed, `begins at ${log.logStartOffset}, and all below ${observed.deletedUpTo} was deleted`)
    }
    if (log.highWatermark < observed.lastHighWatermark) {
      this.#fail(observed, `high watermark went from ${observed.lastHighWatermark} back to ${log.highWatermark}`)
    }
    observed.lastHighWatermark = log.highWatermark
  }

  /** The same log in another process: what was promised is there, and what is there is what was there. */
  #reopened(observed: ObservedLog, log: Log): void {
    observed.log = log
    observed.isStale = false
    // What is known of the high watermark may be old at first.
    observed.lastHighWatermark = 0
    observed.startOffset = 0
    const opening = this.#openings.get(log)
    if (opening === undefined) throw new Error(`nobody saw that ${observed.name} was opened`)
    const { logEndOffset, logStartOffset, batches: found } = opening
    if (!observed.isDamaged && logEndOffset < observed.promisedOffset) {
      this.#fail(
        observed,
        `lost offsets from ${logEndOffset} on: everything below ${observed.promisedOffset} was promised`,
      )
    }
    if (found === undefined) return
    // Of what was not promised any batch may be gone, at the end of a segment also one with others behind it, as in Kafka.
    const there = new Set(found.map(({ baseOffset }) => baseOffset))
    const mayBeLost = ({ baseOffset }: ObservedBatch) => baseOffset >= observed.promisedOffset
    const rewrittenFrom = observed.mayBeRewritten ? rewritten(observed, found) : Number.POSITIVE_INFINITY
    const isLost = ({ baseOffset }: ObservedBatch) => baseOffset >= rewrittenFrom || !there.has(baseOffset)
    const lost = observed.batches.filter(batch => mayBeLost(batch) && isLost(batch))
    observed.remove(lost, Math.min(logEndOffset, rewrittenFrom))
    observed.crashed = false
    observed.mayBeRewritten = false
    this.#lost(observed, lost)
    if (!observed.isDamaged) {
      this.#demandSame(observed, found, logStartOffset, Math.min(logEndOffset, observed.endOffset))
    }
  }

  /** What is there is what was there: no other bytes, and no holes. */
  #demandSame(observed: ObservedLog, found: readonly ObservedBatch[], from: number, to: number): void {
    if (observed.isCompacted) {
      const fault = compactionFault(observed, found, { from, to })
      if (fault !== undefined) this.#fail(observed, fault)
      return
    }
    const known = new Map(observed.batches.map(batch => [batch.baseOffset, batch]))
    for (const batch of found) {
      const before = known.get(batch.baseOffset)
      if (before === undefined && batch.baseOffset < observed.endOffset) {
        this.#fail(observed, `a batch at ${batch.baseOffset} that was not there before`)
      }
      if (before !== undefined && !isSame(batch, before)) {
        this.#fail(observed, `other bytes at offset ${batch.baseOffset}`)
      }
    }
    const offsets = new Set(found.map(({ baseOffset }) => baseOffset))
    for (const { baseOffset, lastOffset } of observed.batches) {
      if (baseOffset >= from && lastOffset < to && !offsets.has(baseOffset)) {
        this.#fail(observed, `the batch at ${baseOffset} is missing`)
      }
    }
  }

  #fail(observed: ObservedLog, message: string): never {
    throw new Violation(NAME, `${observed.name}: ${message}`)
  }
}

/** Where the first batch lies that is not what was there, of what was not promised; beyond all when there is none. */
function rewritten(observed: ObservedLog, found: readonly ObservedBatch[]): number {
  const known = new Map(observed.batches.map(batch => [batch.baseOffset, batch]))
  const isOther = (batch: ObservedBatch) => {
    if (observed.isCompacted) return batch.records.some(({ id, offset }) => observed.recordAt(offset)?.id !== id)
    const before = known.get(batch.baseOffset)
    return before === undefined || !isSame(batch, before)
  }
  const other = found.find(batch => batch.baseOffset >= observed.promisedOffset && isOther(batch))
  return other?.baseOffset ?? Number.POSITIVE_INFINITY
}

function isSame(one: ObservedBatch, other: ObservedBatch): boolean {
  return one.checksum === other.checksum && one.lastOffset === other.lastOffset
}

/** What checkers read meets no faults. */
function quietly(process: BrokerProcess, run: () => void): void {
  const { faults } = process.disk
  process.disk.faults = { ...GOOD_DAY }
  try {
    run()
  } finally {
    process.disk.faults = faults
  }
}
