import { beforeEach, expect, it } from 'vitest'
import type { StorageFailure, StorageFile } from '../storage/storage.ts'
import { Later } from '../util/later.ts'
import { Turns } from '../util/turns.ts'
import { Flushes } from './flushes.ts'

const FAILURE: StorageFailure = { code: 'IO', message: 'gone' }

let turns: Turns
let flushes: Flushes
/** Where the log ends, and where its segments begin. */
let endOffset: number
let bases: number[]
/** Flushes that are under way: which segment, and how to end it. */
let running: { base: number; end(failure?: StorageFailure): void }[]
let told: string[]
beforeEach(() => {
  turns = new Turns()
  endOffset = 0
  bases = [0]
  running = []
  told = []
  flushes = new Flushes({
    turns,
    filesBetween(from, to) {
      const first = bases.findLastIndex(base => base <= from)
      const after = bases.findIndex((base, index) => index > first && base >= to)
      const found = bases.slice(first, after < 0 ? undefined : after)
      return { files: found.map(slowFile), endOffset: after < 0 ? endOffset : bases[after] }
    },
    flushed: () => told.push(`flushed ${flushes.offset}`),
    failed: failure => told.push(failure.message),
  })
})

function slowFile(base: number): StorageFile {
  const flush = () => {
    const later = new Later<StorageFailure | undefined>(turns)
    const entry = {
      base,
      end(failure?: StorageFailure) {
        running.splice(running.indexOf(entry), 1)
        later.settle(failure)
        turns.drain()
      },
    }
    running.push(entry)
    return later
  }
  return { flush } as unknown as StorageFile
}

function flush() {
  const later = flushes.flush(endOffset)
  turns.drain()
  return later
}

it('takes along what is appended in the same drain', () => {
  endOffset = 3
  const first = flushes.flush(endOffset)
  endOffset = 5
  turns.drain()
  const second = flushes.flush(5)
  running[0].end()
  expect([first.settled, second.settled, flushes.offset, running.length]).toEqual([true, true, 5, 0])
})

it('has one round under way, and serves all who ask meanwhile with the next', () => {
  endOffset = 3
  const first = flush()
  endOffset = 5
  const second = flush()
  endOffset = 9
  const third = flush()
  expect(running.length).toBe(1)
  running[0].end()
  expect([first.settled, second.settled, flushes.offset, running.length]).toEqual([true, false, 3, 1])
  running[0].end()
  expect([second.settled, third.settled, flushes.offset, running.length]).toEqual([true, true, 9, 0])
  expect(told).toEqual(['flushed 3', 'flushed 9'])
})

it('has nothing to do for what is on the disk', () => {
  endOffset = 3
  flush()
  running[0].end()
  expect([flush().settled, running.length]).toEqual([true, 0])
})

it('flushes all segments up to where it is asked, and none behind', () => {
  bases = [0, 4, 8]
  endOffset = 10
  flushes.request(8)
  turns.drain()
  expect(running.map(({ base }) => base)).toEqual([0, 4])
  running[1].end()
  expect(flushes.offset).toBe(0)
  running[0].end()
  expect(flushes.offset).toBe(8)
  flushes.request(10)
  turns.drain()
  expect(running.map(({ base }) => base)).toEqual([8])
})

it('fails for ever after one failure, and never tries again', () => {
  endOffset = 3
  const first = flush()
  endOffset = 4
  const second = flush()
  running[0].end(FAILURE)
  expect([first.value, second.value, flushes.offset, running.length]).toEqual([FAILURE, FAILURE, 0, 0])
  endOffset = 5
  expect([flush().value, flushes.failure, running.length, told]).toEqual([FAILURE, FAILURE, 0, ['gone']])
})

it('fails when one of several files does', () => {
  bases = [0, 4]
  endOffset = 6
  const done = flush()
  running[0].end(FAILURE)
  running[0].end()
  expect([done.value, flushes.offset]).toEqual([FAILURE, 0])
})

it('goes back with the log', () => {
  endOffset = 8
  flush()
  running[0].end()
  flushes.truncate(5)
  flushes.truncate(6)
  expect(flushes.offset).toBe(5)
})

it('does not count what was written anew behind a cut while a flush ran', () => {
  endOffset = 8
  const done = flush()
  flushes.truncate(5)
  endOffset = 9
  running[0].end()
  // The cut has to come to the disk as well, and what came behind it comes along.
  expect([flushes.offset, done.settled, running.length]).toEqual([5, false, 1])
  running[0].end()
  expect(flushes.offset).toBe(9)
})

it('has those who wait for what was cut off wait for the cut', () => {
  endOffset = 3
  flush()
  running[0].end()
  endOffset = 8
  const done = flush()
  flushes.truncate(2)
  turns.drain()
  expect([done.settled, flushes.offset, running.length]).toEqual([false, 2, 1])
  running[0].end()
  running[0].end()
  expect(done.settled).toBe(true)
})
