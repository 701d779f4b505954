/** Learns producers and transactions anew after a log was cut: from the newest snapshot on, and from what is left behind it. */

import { readBatchHeader } from '../records/batch-header.ts'
import type { RecordsPlatform } from '../records/compression.ts'
import { BatchScanner } from './batch-scanner.ts'
import { type LogState, markerOf } from './log-state.ts'
import type { Segments } from './segments.ts'

export function replayProducers(segments: Segments, state: LogState, platform: RecordsPlatform): void {
  const snapshot = state.restoreProducers(Number.MAX_SAFE_INTEGER) ?? segments.first.baseOffset
  for (let index = segments.floor(snapshot); index < segments.count; index++) {
    const segment = segments.at(index)
    const begin = snapshot <= segment.baseOffset ? 0 : segment.positionOf(snapshot)
    const scanner = new BatchScanner(segment.file, begin)
    while (scanner.next()) {
      const batch = readBatchHeader(scanner.window, scanner.at)
      state.apply(batch, markerOf(scanner.window, scanner.at, batch, platform), segment)
    }
  }
}
