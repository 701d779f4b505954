import { beforeEach, expect, it } from 'vitest'
import type { StorageFailure, StorageFile } from '../storage/storage.ts'
import { Later } from '../util/later.ts'
import { Turns } from '../util/turns.ts'
import { Flushes } from './flushes.ts'

let turns: Turns
let flushes: Flushes
beforeEach(() => {
  turns = new Turns()
  flushes = new Flushes(turns)
})

/** A file whose flush ends when the test says so. */
function slowFile() {
  const flush = new Later<StorageFailure | undefined>(turns)
  const end = (failure?: StorageFailure) => {
    flush.settle(failure)
    turns.drain()
  }
  return { file: { flush: () => flush } as unknown as StorageFile, end }
}
const FAILURE: StorageFailure = { code: 'IO', message: 'gone' }

it('waits for all that were started', () => {
  const [first, second] = [slowFile(), slowFile()]
  flushes.start(first.file)
  flushes.start(second.file)
  const done = flushes.finish(7)
  second.end()
  expect([done.settled, flushes.offset]).toEqual([false, 0])
  first.end()
  expect([done.settled, flushes.offset]).toEqual([true, 7])
})

it('counts what was there when it was asked, not what came after', () => {
  const [first, second] = [slowFile(), slowFile()]
  flushes.start(first.file)
  flushes.finish(3)
  flushes.start(second.file)
  flushes.finish(9)
  first.end()
  expect(flushes.offset).toBe(3)
  second.end()
  expect(flushes.offset).toBe(9)
})

it('fails for ever after one failure, and never tries again', () => {
  const first = slowFile()
  flushes.start(first.file)
  const done = flushes.finish(3)
  first.end(FAILURE)
  expect([done.value, flushes.offset]).toEqual([FAILURE, 0])
  const untouched = { flush: () => expect.unreachable() } as unknown as StorageFile
  flushes.start(untouched)
  const again = flushes.finish(5)
  turns.drain()
  expect([again.value, flushes.failure, flushes.offset]).toEqual([FAILURE, FAILURE, 0])
})

it('fails when an earlier one of several fails', () => {
  const [first, second] = [slowFile(), slowFile()]
  flushes.start(first.file)
  flushes.start(second.file)
  const done = flushes.finish(3)
  first.end(FAILURE)
  second.end()
  expect([done.value, flushes.offset]).toEqual([FAILURE, 0])
})

it('goes back with the log', () => {
  const first = slowFile()
  flushes.start(first.file)
  flushes.finish(8)
  first.end()
  flushes.truncate(5)
  flushes.truncate(6)
  expect(flushes.offset).toBe(5)
})

it('does not count what was written anew behind a cut while a flush ran', () => {
  const first = slowFile()
  flushes.start(first.file)
  flushes.finish(8)
  flushes.truncate(5)
  first.end()
  expect(flushes.offset).toBe(5)
})
