import { assert } from './assert.ts'

/**
 * The one ordering of time: a binary heap of (due, sequence, run). Timers due at the same millisecond fire in the
 * order in which they were set. It knows no clock; whoever owns it says what time it is.
 */

/** A timer that was set; cancelling one that fired or was cancelled does nothing. */
export interface Timer {
  cancel(): void
}

interface Entry extends Timer {
  due: number
  sequence: number
  run: (() => void) | undefined
}

export class TimerQueue {
  #heap: Entry[] = []
  #sequence = 0
  #cancelled = 0

  /** How many timers are set. */
  get size(): number {
    return this.#heap.length - this.#cancelled
  }

  set(due: number, run: () => void): Timer {
    assert(!Number.isNaN(due), 'a timer needs a time')
    const entry: Entry = {
      due,
      sequence: this.#sequence++,
      run,
      cancel: () => {
        if (entry.run === undefined) return
        entry.run = undefined
        this.#cancelled++
        this.#compact()
      },
    }
    this.#heap.push(entry)
    this.#up(this.#heap.length - 1)
    return entry
  }

  /** When the next timer is due, or undefined. */
  nextDue(): number | undefined {
    this.#dropCancelled()
    return this.#heap[0]?.due
  }

  /** Takes the next timer that is due at `now`, or undefined. */
  take(now: number): (() => void) | undefined {
    this.#dropCancelled()
    const top = this.#heap[0]
    if (top === undefined || top.due > now) return undefined
    this.#pop()
    const run = top.run
    top.run = undefined
    return run
  }

  #dropCancelled(): void {
    while (this.#heap.length > 0 && this.#heap[0].run === undefined) {
      this.#pop()
      this.#cancelled--
    }
  }

  /** Heartbeats replace their timer each time: without this, cancelled ones would pile up until they are due. */
  #compact(): void {
    if (this.#cancelled < 64 || this.#cancelled * 2 < this.#heap.length) return
    this.#heap = this.#heap.filter(entry => entry.run !== undefined)
    this.#cancelled = 0
    for (let index = (this.#heap.length >> 1) - 1; index >= 0; index--) this.#down(index)
  }

  #pop(): void {
    const last = this.#heap.pop() as Entry
    if (this.#heap.length === 0) return
    this.#heap[0] = last
    this.#down(0)
  }

  #before(a: Entry, b: Entry): boolean {
    return a.due < b.due || (a.due === b.due && a.sequence < b.sequence)
  }

  #up(index: number): void {
    const heap = this.#heap
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#before(heap[index], heap[parent])) return
      ;[heap[index], heap[parent]] = [heap[parent], heap[index]]
      index = parent
    }
  }

  #down(index: number): void {
    const heap = this.#heap
    for (;;) {
      const left = 2 * index + 1
      if (left >= heap.length) return
      const right = left + 1
      const child = right < heap.length && this.#before(heap[right], heap[left]) ? right : left
      if (!this.#before(heap[child], heap[index])) return
      ;[heap[index], heap[child]] = [heap[child], heap[index]]
      index = child
    }
  }
}
