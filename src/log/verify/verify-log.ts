/**
 * Checks the directory of one log without changing it: its segments with all their batches, what lies beside them, and whether it
 * reaches as far as the checkpoints of the data directory say. For `ottla verify`.
 */

import type { Crc32c } from '../../records/crc32c.ts'
import { readWhole } from '../../storage/read-whole.ts'
import { TEMPORARY_SUFFIX } from '../../storage/replacements.ts'
import type { Storage } from '../../storage/storage.ts'
import { checkpointLines } from '../checkpoint-file.ts'
import { EPOCHS_FILE, epochsIn } from '../epoch-checkpoint.ts'
import { METADATA_FILE, readTopicId } from '../partition-metadata.ts'
import { decodeSnapshot } from '../producer-snapshot.ts'
import {
  baseOffsetOf,
  CLEANED_SUFFIX,
  DELETED_SUFFIX,
  offsetOf,
  SEGMENT_SUFFIXES,
  SNAPSHOT_SUFFIX,
  SWAP_SUFFIX,
} from '../segment-files.ts'
import type { Findings } from './finding.ts'
import { verifySegment } from './verify-segment.ts'

export interface LogToVerify {
  readonly storage: Storage
  readonly directory: string
  readonly crc32c: Crc32c
  /** What the checkpoints in the root say of it; undefined when they say nothing. */
  readonly recoveryPoint?: number
  readonly highWatermark?: number
  readonly logStartOffset?: number
  /** Says of a name that is none of a log's whether it is known all the same. */
  readonly isKnown?: (name: string) => boolean
  readonly findings: Findings
}

export interface VerifiedLog {
  readonly topicId: string | undefined
  readonly startOffset: number
  readonly endOffset: number
  readonly segments: number
  readonly batches: number
  readonly bytes: number
}

export function verifyLog(log: LogToVerify): VerifiedLog {
  const { storage, directory } = log
  const names = storage.list(directory)
  const verified = verifySegments(log, names)
  checkCheckpoints(log, verified)
  checkEpochs(log, verified.endOffset)
  checkSnapshots(log, names, verified.endOffset)
  checkNames(log, names)
  return { ...verified, topicId: readTopicId(storage, directory) }
}

function verifySegments(log: LogToVerify, names: readonly string[]): Omit<VerifiedLog, 'topicId'> {
  const { findings, directory, recoveryPoint = 0 } = log
  const baseOffsets = names.map(baseOffsetOf).filter(offset => offset !== undefined)
  let endOffset = baseOffsets[0] ?? 0
  let batches = 0
  let bytes = 0
  for (const baseOffset of baseOffsets) {
    if (baseOffset < endOffset) {
      findings.error(
        directory,
        `the segment that begins at ${baseOffset} overlaps with the one before, up to ${endOffset}`,
      )
    }
    const segment = verifySegment({ ...log, baseOffset, recoveryPoint })
    endOffset = Math.max(endOffset, segment.endOffset)
    batches += segment.batches
    bytes += segment.bytes
  }
  return { startOffset: baseOffsets[0] ?? 0, endOffset, segments: baseOffsets.length, batches, bytes }
}

/** What was there once and is there no longer. */
function checkCheckpoints(
  log: LogToVerify,
  { endOffset, startOffset }: { endOffset: number; startOffset: number },
): void {
  const { findings, directory, recoveryPoint, highWatermark, logStartOffset } = log
  if (recoveryPoint !== undefined && recoveryPoint > endOffset) {
    findings.error(
      directory,
      `it ends at ${endOffset}, and was on the disk up to ${recoveryPoint}: records are missing`,
    )
  } else if (highWatermark !== undefined && highWatermark > endOffset) {
    const message = `it ends at ${endOffset}, and was acknowledged up to ${highWatermark}: a power cut took what was not flushed`
    findings.warning(directory, message)
  }
  if (logStartOffset !== undefined && logStartOffset < startOffset) {
    findings.note(directory, `it begins at ${startOffset}, later than its checkpoint says`)
  }
}

function checkEpochs({ storage, directory, findings }: LogToVerify, endOffset: number): void {
  const path = `${directory}/${EPOCHS_FILE}`
  const bytes = readWhole(storage, path)
  if (bytes === undefined) return
  const lines = checkpointLines(bytes)
  const entries = lines && epochsIn(lines)
  if (entries === undefined) {
    return findings.warning(path, 'it is broken; the epochs will be learned again from the log')
  }
  for (const [index, { epoch, startOffset }] of entries.entries()) {
    const before = entries[index - 1] ?? { epoch: -1, startOffset: -1 }
    if (epoch <= before.epoch || startOffset < before.startOffset) {
      const message = `epoch ${epoch} from ${startOffset} comes behind epoch ${before.epoch} from ${before.startOffset}`
      findings.warning(path, message)
    }
    if (startOffset > endOffset)
      findings.warning(path, `epoch ${epoch} begins at ${startOffset}, behind the end of the log`)
  }
}

function checkSnapshots(log: LogToVerify, names: readonly string[], endOffset: number): void {
  const { storage, directory, findings, crc32c } = log
  for (const name of names) {
    const offset = offsetOf(name, SNAPSHOT_SUFFIX)
    if (offset === undefined) continue
    const path = `${directory}/${name}`
    const bytes = readWhole(storage, path)
    if (bytes !== undefined && decodeSnapshot(bytes, crc32c) === undefined) {
      findings.warning(path, 'what it says of producers is damaged; it will be learned again from the log')
    }
    if (offset > endOffset)
      findings.warning(path, `it was taken at ${offset}, behind the end of the log at ${endOffset}`)
  }
}

function checkNames({ directory, findings, isKnown }: LogToVerify, names: readonly string[]): void {
  const present = new Set(names)
  for (const name of names) {
    const path = `${directory}/${name}`
    const base = SEGMENT_SUFFIXES.map(suffix => offsetOf(name, suffix)).find(offset => offset !== undefined)
    if (base !== undefined) {
      const segment = `${name.slice(0, 20)}.log`
      // One that the cleaner made may have its indexes before it has its name.
      const hasSegment = present.has(segment) || present.has(segment + SWAP_SUFFIX)
      if (!hasSegment) findings.warning(path, 'an index without its segment')
    } else if (name.endsWith(DELETED_SUFFIX) || name.endsWith(CLEANED_SUFFIX) || name.endsWith(TEMPORARY_SUFFIX)) {
      findings.note(path, 'left by a crash; it is removed, or written over, when the log is opened')
    } else if (name.endsWith(SWAP_SUFFIX)) {
      findings.note(
        path,
        'a cleaned segment that a crash kept from taking its place; that is done when the log is opened',
      )
    } else if (
      name !== EPOCHS_FILE &&
      name !== METADATA_FILE &&
      offsetOf(name, SNAPSHOT_SUFFIX) === undefined &&
      !isKnown?.(name)
    ) {
      findings.note(path, 'it is no file of a log')
    }
  }
}
