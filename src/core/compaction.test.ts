import { describe, expect, it } from 'vitest'
import {
  batchFate,
  type CompactionConfig,
  cleaningNeed,
  filthiest,
  firstDirtyOffset,
  groupSegments,
  keepsRecord,
  type LogFacts,
} from './compaction.ts'

const NOW = 1_000_000
const config: CompactionConfig = {
  minCompactionLagMs: 0,
  maxCompactionLagMs: Number.MAX_SAFE_INTEGER,
  minCleanableRatio: 0.5,
}

/** Segments of ten offsets and a hundred bytes each, the last of them active; `ages` are those of their records. */
function logOf(count: number, more: Partial<LogFacts> = {}, ages: readonly number[] = []): LogFacts {
  return {
    segments: Array.from({ length: count }, (_, index) => ({
      baseOffset: index * 10,
      size: 100,
      firstTimestamp: NOW - (ages[index] ?? 0) - 5,
      largestTimestamp: NOW - (ages[index] ?? 0),
    })),
    logStartOffset: 0,
    logEndOffset: count * 10,
    lastStableOffset: count * 10,
    cleanedUpTo: undefined,
    ...more,
  }
}

describe('the first dirty offset', () => {
  it('is where the last cleaning ended, as long as that lies in the log', () => {
    for (const cleanedUpTo of [0, 1, 29, 30]) expect(firstDirtyOffset(logOf(3, { cleanedUpTo }))).toBe(cleanedUpTo)
    expect(firstDirtyOffset(logOf(3))).toBe(0)
    expect(firstDirtyOffset(logOf(3, { cleanedUpTo: 31 }))).toBe(0)
    expect(firstDirtyOffset(logOf(3, { cleanedUpTo: 4, logStartOffset: 5 }))).toBe(5)
    expect(firstDirtyOffset(logOf(3, { cleanedUpTo: 5, logStartOffset: 5 }))).toBe(5)
  })
})

describe('what there is to clean', () => {
  it('is everything but the active segment', () => {
    expect(cleaningNeed(logOf(4), config, NOW)).toEqual({
      firstDirtyOffset: 0,
      firstUncleanableOffset: 30,
      dirtyBytes: 300,
      dirtyRatio: 1,
      isDue: true,
    })
    expect(cleaningNeed(logOf(1), config, NOW)).toMatchObject({ dirtyBytes: 0, dirtyRatio: 0, isDue: false })
  })

  it('ends in front of the segment with the last stable offset', () => {
    for (const [lastStableOffset, end] of [
      [0, 0],
      [9, 0],
      [10, 10],
      [29, 20],
      [30, 30],
      [39, 30],
      [40, 30],
    ]) {
      const need = cleaningNeed(logOf(4, { lastStableOffset }), config, NOW)
      expect([lastStableOffset, need.firstUncleanableOffset, need.dirtyBytes]).toEqual([
        lastStableOffset,
        end,
        end * 10,
      ])
    }
  })

  it('ends in front of the first segment with a record younger than the minimum lag', () => {
    const ages = [500, 300, 100, 400, 0]
    const end = (minCompactionLagMs: number) =>
      cleaningNeed(logOf(5, {}, ages), { ...config, minCompactionLagMs }, NOW).firstUncleanableOffset
    expect([0, 99, 100, 101, 300, 301, 500, 501].map(end)).toEqual([40, 40, 40, 20, 20, 10, 10, 0])
  })

  it('does not count what is younger below the first dirty offset', () => {
    const log = logOf(5, { cleanedUpTo: 20 }, [0, 0, 500, 500, 0])
    const need = cleaningNeed(log, { ...config, minCompactionLagMs: 400 }, NOW)
    expect(need).toMatchObject({ firstDirtyOffset: 20, firstUncleanableOffset: 40, dirtyBytes: 200, dirtyRatio: 0.5 })
  })

  it('is due when the dirty part is more than the ratio', () => {
    const isDue = (cleanedUpTo: number, minCleanableRatio: number) =>
      cleaningNeed(logOf(5, { cleanedUpTo }), { ...config, minCleanableRatio }, NOW).isDue
    expect(isDue(20, 0.5)).toBe(false)
    expect(isDue(10, 0.5)).toBe(true)
    expect(isDue(20, 0.49)).toBe(true)
    expect(isDue(30, 0)).toBe(true)
    expect(isDue(40, 0)).toBe(false)
    expect(isDue(0, 1)).toBe(false)
  })

  it('is due whatever the ratio is when a dirty segment begins with a record older than the maximum lag', () => {
    const isDue = (cleanedUpTo: number, maxCompactionLagMs: number, ages: number[]) =>
      cleaningNeed(logOf(5, { cleanedUpTo }, ages), { ...config, maxCompactionLagMs }, NOW).isDue
    expect(isDue(30, 300, [400, 400, 400, 0, 0])).toBe(false)
    expect(isDue(30, 300, [0, 0, 0, 400, 0])).toBe(true)
    expect(isDue(30, 300, [0, 0, 0, 295, 0])).toBe(false)
    expect(isDue(30, 300, [0, 0, 0, 296, 0])).toBe(true)
    expect(isDue(40, 300, [0, 0, 0, 400, 400])).toBe(false)
  })

  it('counts a segment that was cleaned in part on both sides', () => {
    expect(cleaningNeed(logOf(3, { cleanedUpTo: 5 }), config, NOW)).toMatchObject({
      firstDirtyOffset: 5,
      dirtyBytes: 200,
      dirtyRatio: 2 / 3,
    })
  })
})

it('the filthiest of those that are due comes first', () => {
  const log = (name: string, dirtyRatio: number, isDue = true) => ({
    name,
    need: { firstDirtyOffset: 0, firstUncleanableOffset: 0, dirtyBytes: 1, dirtyRatio, isDue },
  })
  expect(filthiest([log('a', 0.6), log('b', 0.9), log('c', 1, false), log('d', 0.9)])?.name).toBe('b')
  expect(filthiest([log('a', 1, false)])).toBeUndefined()
  expect(filthiest([log('a', 0.1)])?.name).toBe('a')
})

describe('groups of segments', () => {
  const segment = (baseOffset: number, size: number) => ({ baseOffset, size })
  const groups = (segments: { baseOffset: number; size: number }[], maxBytes: number, upTo = 2 ** 40) =>
    groupSegments(segments, maxBytes, upTo).map(group => group.map(({ baseOffset }) => baseOffset))

  it('are as large as a segment', () => {
    const segments = [
      segment(0, 30),
      segment(10, 40),
      segment(20, 30),
      segment(30, 1),
      segment(40, 200),
      segment(50, 5),
    ]
    expect(groups(segments, 100, 60)).toEqual([[0, 10, 20], [30], [40], [50]])
    expect(groups(segments, 1000, 60)).toEqual([[0, 10, 20, 30, 40, 50]])
    expect(groups([], 100)).toEqual([])
  })

  it('span no more offsets than an index can say', () => {
    const far = 2 ** 31
    expect(groups([segment(0, 1), segment(10, 1)], 100, far)).toEqual([[0, 10]])
    expect(groups([segment(0, 1), segment(10, 1)], 100, far + 1)).toEqual([[0], [10]])
    expect(groups([segment(0, 1), segment(10, 1), segment(far, 1)], 100, far + 1)).toEqual([[0, 10], [far]])
    expect(groups([segment(0, 1), segment(10, 0)], 100, far + 1)).toEqual([[0, 10]])
  })
})

describe('what becomes of a batch', () => {
  const data = { producerId: 7, producerEpoch: 1, lastOffset: 19, isControl: false, deleteHorizonMs: undefined }
  const fate = (batch: Partial<typeof data> | object, isObsolete: boolean, last?: object, upTo = 100) =>
    batchFate({ ...data, ...batch }, isObsolete, last as never, upTo, NOW)

  it('data goes when it was aborted, a marker when its horizon has passed', () => {
    expect(fate({}, false).records).toBe('keep')
    expect(fate({}, true).records).toBe('drop')
    const marker = { isControl: true }
    expect(fate(marker, false).records).toBe('keep')
    expect(fate(marker, true).records).toBe('keep')
    expect(fate({ ...marker, deleteHorizonMs: NOW + 1 }, true).records).toBe('keep')
    expect(fate({ ...marker, deleteHorizonMs: NOW }, true).records).toBe('drop')
    expect(fate({ ...marker, deleteHorizonMs: NOW }, false).records).toBe('keep')
  })

  it('the header stays where it says how a producer goes on', () => {
    const keeps = (batch: object, last?: object) => fate(batch, true, last).keepsEmpty
    expect(keeps({})).toBe(false)
    expect(keeps({}, { producerEpoch: 1, lastDataOffset: 19 })).toBe(true)
    expect(keeps({}, { producerEpoch: 1, lastDataOffset: 20 })).toBe(false)
    expect(keeps({ producerId: -1 }, { producerEpoch: 1, lastDataOffset: 19 })).toBe(false)
    expect(keeps({}, { producerEpoch: 1, lastDataOffset: undefined })).toBe(false)
    expect(keeps({ isControl: true }, { producerEpoch: 1, lastDataOffset: undefined })).toBe(true)
    expect(keeps({ isControl: true }, { producerEpoch: 2, lastDataOffset: undefined })).toBe(false)
    expect(keeps({ isControl: true }, { producerEpoch: 1, lastDataOffset: 30 })).toBe(false)
  })

  it('the header stays at the end of the round', () => {
    expect(fate({}, false, undefined, 20).keepsEmpty).toBe(true)
    expect(fate({}, false, undefined, 21).keepsEmpty).toBe(false)
  })
})

it('a record stays when it is the last of its key, a tombstone until its horizon has passed', () => {
  const keeps = (offset: number, isTombstone: boolean, latest: number, horizon?: number) =>
    keepsRecord({ offset, isTombstone }, latest, horizon, NOW)
  expect(keeps(5, false, -1)).toBe(true)
  expect(keeps(5, false, 5)).toBe(true)
  expect(keeps(5, false, 6)).toBe(false)
  expect(keeps(5, true, 5)).toBe(true)
  expect(keeps(5, true, 5, NOW + 1)).toBe(true)
  expect(keeps(5, true, 5, NOW)).toBe(false)
  expect(keeps(5, false, 5, NOW)).toBe(true)
  expect(keeps(5, true, 6, NOW + 1)).toBe(false)
})
