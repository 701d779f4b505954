import { describe, expect, it } from 'vitest'
import { append, batchOf, makeLog, readTexts } from '../../test/support/log.ts'
import type { Log } from './log.ts'
import { segmentName } from './segment-files.ts'

const state = (log: Log) => ({
  start: log.logStartOffset,
  end: log.logEndOffset,
  segments: log.segmentCount,
  size: log.sizeInBytes,
  epoch: log.latestEpoch,
  producers: log.producers(),
  texts: readTexts(log),
  newest: log.maxTimestamp(),
})

/** A log of three segments of two batches each. */
function threeSegments() {
  const fixture = makeLog({ segmentBytes: 200 }, { durable: true })
  for (const [index, value] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) {
    append(fixture.log, batchOf([value], { producerId: 1, producerEpoch: 0, baseSequence: index }), {
      leaderEpoch: index >> 1,
    })
  }
  fixture.env.settle()
  const file = (baseOffset: number) => fixture.storage.open(`t-0/${segmentName(baseOffset)}`)
  return { ...fixture, file, size: batchOf(['a']).length }
}

describe('opening a log again', () => {
  it('gives the same log', () => {
    const { log, reopen } = threeSegments()
    const again = reopen()
    expect(state(again)).toEqual(state(log))
    for (const epoch of [-1, 0, 1, 2, 3]) expect(again.endOffsetForEpoch(epoch)).toEqual(log.endOffsetForEpoch(epoch))
    append(again, batchOf(['g'], { producerId: 1, producerEpoch: 0, baseSequence: 6 }), { leaderEpoch: 3 })
    expect(readTexts(again, 5)).toEqual(['5:f', '6:g'])
  })

  it('takes the high watermark that it is told, within the log', () => {
    const { reopen } = threeSegments()
    expect([-1, 4, 100].map(highWatermark => reopen({ highWatermark }).highWatermark)).toEqual([0, 4, 6])
    expect(reopen().highWatermark).toBe(0)
  })

  it.each([1, 30, 60, 61, 68])('drops a batch of which only %d bytes were written', cut => {
    const { file, reopen, size, env } = threeSegments()
    file(4).truncate(size + cut)
    const log = reopen()
    expect([log.logEndOffset, log.sizeInBytes]).toEqual([5, 5 * size])
    expect(env.lines).toMatchObject([{ level: 'warn', fields: { bytes: cut } }])
    append(log, batchOf(['x']))
    expect(readTexts(log, 4)).toEqual(['4:e', '5:x'])
  })

  it('drops zeros at the end, which a file may have after a power cut', () => {
    const { file, reopen, size } = threeSegments()
    file(4).appendv([new Uint8Array(500)])
    expect(reopen().sizeInBytes).toBe(6 * size)
  })

  it('drops a batch whose checksum is wrong, and everything behind it', () => {
    const { file, reopen, storage, env } = threeSegments()
    file(2).writeAt(65, Uint8Array.of(0xff))
    const log = reopen()
    expect([log.logEndOffset, log.segmentCount]).toEqual([2, 2])
    // The checkpoint knows where epoch 1 began; of epoch 2 nothing is left.
    expect(log.latestEpoch).toBe(1)
    env.settle()
    expect(storage.list('t-0').filter(name => name.includes('.log'))).toEqual([segmentName(0), segmentName(2)])
    append(log, batchOf(['x']))
    expect(readTexts(log)).toEqual(['0:a', '1:b', '2:x'])
  })

  it('does not look at checksums of what is known to be synced', () => {
    const { file, reopen } = threeSegments()
    file(0).writeAt(65, Uint8Array.of(0xff))
    expect(reopen({ recoveryPoint: 2 }).logEndOffset).toBe(6)
    expect(reopen({ recoveryPoint: 1 }).logEndOffset).toBe(6)
    expect(reopen({ recoveryPoint: 0 }).logEndOffset).toBe(0)
  })

  it('drops a batch whose offset goes back', () => {
    const { file, reopen } = threeSegments()
    file(4).appendv([batchOf(['old'], { baseOffset: 3 })])
    expect(reopen().logEndOffset).toBe(6)
  })

  it('removes files of deleted segments, and leaves files that it does not know', () => {
    const { storage, reopen, env } = threeSegments()
    for (const name of [`${segmentName(0)}.deleted`, '00000000000000000000.index.deleted', 'notes.txt']) {
      storage.open(`t-0/${name}`, { create: true }).appendv([Uint8Array.of(1)])
    }
    reopen()
    env.settle()
    const names = storage.list('t-0').filter(name => !/\.(log|index|timeindex)$/.test(name))
    expect(names).toEqual(['leader-epoch-checkpoint', 'notes.txt'])
  })

  it('goes on without checkpoints, and without broken ones', () => {
    const { log, storage, reopen, env } = threeSegments()
    for (const text of ['', 'rubbish\n', '0\n5\n1 2\n', '0\n1\n1 x\n', '9\n1\n7 0\n']) {
      storage.replace('t-0/leader-epoch-checkpoint', new TextEncoder().encode(text))
      const again = reopen()
      expect(again.endOffsetForEpoch(1)).toEqual(log.endOffsetForEpoch(1))
      expect(again.latestEpoch).toBe(2)
    }
    expect(env.lines.filter(line => line.message.includes('checkpoint')).length).toBe(5)
    storage.remove('t-0/leader-epoch-checkpoint')
    expect(reopen().endOffsetForEpoch(0)).toEqual(log.endOffsetForEpoch(0))
  })

  it('believes the batches where a checkpoint is older than they are', () => {
    const { storage, reopen } = threeSegments()
    storage.replace('t-0/leader-epoch-checkpoint', new TextEncoder().encode('0\n2\n0 0\n7 1\n'))
    const log = reopen()
    expect([0, 1, 2].map(epoch => log.endOffsetForEpoch(epoch).endOffset)).toEqual([2, 4, 6])
  })

  it('begins where it was told to when its data is lost', () => {
    const { log, storage, reopen } = threeSegments()
    log.deleteRecordsBefore(5)
    for (const base of [0, 2, 4]) storage.remove(`t-0/${segmentName(base)}`)
    const again = reopen()
    expect([again.logStartOffset, again.logEndOffset]).toEqual([5, 5])
  })
})
