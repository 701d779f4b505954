/**
 * Checks a data directory without changing it: what it says of itself, the metadata, every log with every batch, and what lies there
 * that is of no use to anybody. For `ottla verify`; the broker may be running, and what it writes meanwhile may look torn.
 */

import { FORMAT_FILE, META_FILE, readFormat, readMeta } from '../broker/data-directory.ts'
import { MetadataImage } from '../broker/metadata/image.ts'
import { decodeMetadataRecord } from '../broker/metadata/records.ts'
import { BatchScanner } from '../log/batch-scanner.ts'
import { DELETE_SUFFIX, STRAY_SUFFIX } from '../log/log-directory.ts'
import { PartitionOffsets } from '../log/partition-offsets.ts'
import { CHECKPOINT_FILES, CLEAN_SHUTDOWN_FILE, METADATA_DIRECTORY } from '../log/root-files.ts'
import { baseOffsetOf, DELETED_SUFFIX, segmentName, withFile } from '../log/segment-files.ts'
import { type Finding, Findings } from '../log/verify/finding.ts'
import { verifyLog } from '../log/verify/verify-log.ts'
import { checkBatch, readBatchHeader } from '../records/batch-header.ts'
import { readRecords } from '../records/batch-reader.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import { RecordsError } from '../records/records-error.ts'
import type { Storage } from '../storage/storage.ts'
import { AssertionError } from '../util/assert.ts'
import type { Env } from '../util/env.ts'
import { FLUSHED_OFFSET_FILE, readFlushedOffset } from './flushed-offset.ts'
import { MetadataSnapshots, SNAPSHOT_NAME } from './metadata-snapshots.ts'

export interface VerifyOptions {
  readonly env: Env
  readonly storage: Storage
  readonly platform: RecordsPlatform
  /** What another directory, that of the controller, says of the topics; this one has the metadata itself otherwise. */
  readonly image?: MetadataImage
  /** Called before each log, for whoever waits. */
  readonly onLog?: (directory: string) => void
}

export interface VerifiedDirectory {
  /** What the metadata adds up to, where there is any and it can be read. */
  readonly image: MetadataImage | undefined
  readonly findings: readonly Finding[]
  readonly logs: number
  readonly segments: number
  readonly batches: number
  readonly bytes: number
}

const FILES: readonly string[] = [
  FORMAT_FILE,
  META_FILE,
  CLEAN_SHUTDOWN_FILE,
  'ottla.lock',
  ...Object.values(CHECKPOINT_FILES),
]
const PARTITION = /^(.+)-(\d+)$/

export function verifyDataDirectory(options: VerifyOptions): VerifiedDirectory {
  const { storage } = options
  const findings = new Findings()
  const sum = { logs: 0, segments: 0, batches: 0, bytes: 0 }
  const format = readFormat(storage)
  if (format === undefined) findings.error('', `it has no ${FORMAT_FILE}: it is not a data directory of Ottla`)
  else if ('kind' in format) findings.error('', [format.message, format.hint].filter(Boolean).join('; '))
  // What is in a directory of another format nobody knows.
  if (format === undefined || 'kind' in format) return { findings: findings.all, image: undefined, ...sum }
  const meta = readMeta(storage)
  if (meta === undefined) findings.error(META_FILE, 'it is missing: nobody knows which cluster and node this is')
  else if ('kind' in meta) findings.error(META_FILE, meta.message)
  if (!storage.exists(CLEAN_SHUTDOWN_FILE)) {
    findings.note(
      '',
      'the broker runs, or was not stopped in good order: the ends of logs are checked when they are opened',
    )
  }
  const checkpoints = readCheckpoints(options, findings)
  const image = readMetadata(options, findings)
  for (const name of storage.list('')) {
    const partition = PARTITION.exec(name)
    if (partition === null) checkName(name, findings)
    else {
      options.onLog?.(name)
      const log = verifyOne(options, name, checkpoints, findings)
      sum.logs++
      sum.segments += log.segments
      sum.batches += log.batches
      sum.bytes += log.bytes
      if (name !== METADATA_DIRECTORY && image) checkOwner(name, log.topicId, image, findings)
    }
  }
  return { findings: findings.all, image, ...sum }
}

type Checkpoints = { readonly [Kind in keyof typeof CHECKPOINT_FILES]: ReadonlyMap<string, number> }

function readCheckpoints({ env, storage }: VerifyOptions, findings: Findings): Checkpoints {
  const read = (name: string) => {
    let isBroken = false
    const log: Env['log'] = () => {
      isBroken = true
    }
    const offsets = new PartitionOffsets(storage, name, withLog(env, log)).all
    if (isBroken) findings.warning(name, 'it is broken and will not be used')
    for (const topicPartition of offsets.keys()) {
      if (!storage.exists(topicPartition))
        findings.note(name, `it tells of ${topicPartition}, of which there is no log`)
    }
    return offsets
  }
  return {
    recoveryPoint: read(CHECKPOINT_FILES.recoveryPoint),
    highWatermark: read(CHECKPOINT_FILES.highWatermark),
    logStartOffset: read(CHECKPOINT_FILES.logStartOffset),
    cleaned: read(CHECKPOINT_FILES.cleaned),
  }
}

function verifyOne(
  { storage, platform }: VerifyOptions,
  directory: string,
  checkpoints: Checkpoints,
  findings: Findings,
) {
  const isMetadata = directory === METADATA_DIRECTORY
  return verifyLog({
    storage,
    directory,
    crc32c: platform.crc32c,
    recoveryPoint: isMetadata
      ? readFlushedOffset(storage, directory, platform.crc32c)
      : checkpoints.recoveryPoint.get(directory),
    highWatermark: checkpoints.highWatermark.get(directory),
    logStartOffset: checkpoints.logStartOffset.get(directory),
    isKnown: name => isMetadata && (name === FLUSHED_OFFSET_FILE || SNAPSHOT_NAME.test(name)),
    findings,
  })
}

/** The image that snapshot and log add up to; undefined when they do not. */
function readMetadata(options: VerifyOptions, findings: Findings): MetadataImage | undefined {
  const { env, storage, platform } = options
  // Of several brokers only the controller has it.
  if (!storage.exists(METADATA_DIRECTORY)) return options.image
  const image = new MetadataImage()
  const log: Env['log'] = (_, message, fields) => findings.error(String(fields?.path ?? METADATA_DIRECTORY), message)
  try {
    const snapshots = new MetadataSnapshots({
      env: withLog(env, log),
      storage,
      platform,
      directory: METADATA_DIRECTORY,
    })
    const snapshot = snapshots.newest()
    for (const { value } of snapshot?.records ?? []) image.apply(decodeMetadataRecord(value as Uint8Array))
    const from = snapshot?.endOffset ?? 0
    const baseOffsets = storage
      .list(METADATA_DIRECTORY)
      .map(baseOffsetOf)
      .filter(offset => offset !== undefined)
    if ((baseOffsets[0] ?? 0) > from) {
      findings.error(
        METADATA_DIRECTORY,
        `it begins at ${baseOffsets[0]}, and its snapshot ends at ${from}: topics are missing`,
      )
      return undefined
    }
    for (const baseOffset of baseOffsets)
      applySegment(options, `${METADATA_DIRECTORY}/${segmentName(baseOffset)}`, from, image)
    return image
  } catch (error) {
    if (!(error instanceof RecordsError) && !(error instanceof AssertionError) && !(error instanceof RangeError))
      throw error
    findings.error(METADATA_DIRECTORY, `it cannot be read: ${error.message}`)
    return undefined
  }
}

/** Applies the records of whole batches; what is broken behind them is told by the check of the log. */
function applySegment({ storage, platform }: VerifyOptions, path: string, from: number, image: MetadataImage): void {
  withFile(storage, path, file => {
    const scanner = new BatchScanner(file, 0)
    try {
      while (scanner.next()) {
        const { window, at } = scanner
        checkBatch(window, at, platform.crc32c)
        if (readBatchHeader(window, at).lastOffset < from) continue
        for (const { offset, value } of readRecords(window, at, platform)) {
          if (offset >= from) image.apply(decodeMetadataRecord(value as Uint8Array))
        }
      }
    } catch (error) {
      if (!(error instanceof RecordsError)) throw error
    }
  })
}

function checkOwner(directory: string, topicId: string | undefined, image: MetadataImage, findings: Findings): void {
  const [, name, index] = PARTITION.exec(directory) as RegExpExecArray
  const topic = image.topicsByName.get(name)
  if (topic?.partitions[Number(index)] === undefined) {
    findings.warning(directory, 'no topic has it; it is set aside when the broker starts')
  } else if (topicId !== undefined && topicId !== topic.topicId) {
    findings.warning(directory, 'it is of an earlier topic of that name; it is set aside when the broker starts')
  }
}

function checkName(name: string, findings: Findings): void {
  if (FILES.includes(name) || name.startsWith('.') || name === 'lost+found') return
  if (name.endsWith(STRAY_SUFFIX))
    findings.note(name, 'the log of a topic that is no more, set aside; remove it when nobody needs it')
  else if (name.endsWith(DELETE_SUFFIX) || name.endsWith(DELETED_SUFFIX))
    findings.note(name, 'it was deleted; the rest goes at the next start')
  else if (name.endsWith('.tmp')) findings.note(name, 'left by a crash; it is written over')
  else findings.note(name, 'it is nothing of Ottla')
}

/** The same env, whose log lines are findings. */
function withLog(env: Env, log: Env['log']): Env {
  return {
    turns: env.turns,
    now: () => env.now(),
    random: () => env.random(),
    timer: (delayMs, run, clock) => env.timer(delayMs, run, clock),
    log,
  }
}
