/**
 * A log as the cleaner sees it: more than others may see, since it changes segments in the midst of it. What is not here, such as
 * where a log ends and who may read it, no cleaning changes.
 */

import type { LogFacts } from '../../core/compaction.ts'
import type { RecordsPlatform } from '../../records/compression.ts'
import type { Storage } from '../../storage/storage.ts'
import type { Env } from '../../util/env.ts'
import type { LogConfig } from '../log-config.ts'
import type { ProducerEntry } from '../producer-state.ts'
import type { Segments } from '../segments.ts'
import type { AbortedTransactionEntry } from '../transaction-index.ts'

export interface CleanableLog {
  readonly topicPartition: string
  readonly directory: string
  readonly storage: Storage
  readonly env: Env
  readonly platform: RecordsPlatform
  readonly config: LogConfig
  readonly segments: Segments
  /** Whether that is its policy now. */
  isCompacted(): boolean
  /** What the rules of compaction ask for; see `LogFacts`. */
  bounds(): Omit<LogFacts, 'segments' | 'cleanedUpTo'>
  producers(): ProducerEntry[]
  /** The aborted transactions with data in `[fromOffset, upToOffset)`. */
  abortedBetween(fromOffset: number, upToOffset: number): AbortedTransactionEntry[]
}

/** The log was cut, closed or changed otherwise: the segments that were read are not those of the log any more. */
export class CleaningAborted extends Error {
  override readonly name = 'CleaningAborted'
}
