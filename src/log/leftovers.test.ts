import { beforeEach, describe, expect, it } from 'vitest'
import { batchOf } from '../../test/support/log.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { finishLeftovers } from './leftovers.ts'
import { fileName, segmentName } from './segment-files.ts'

let env: VirtualEnv
let storage: MemoryStorage
beforeEach(() => {
  env = new VirtualEnv()
  storage = new MemoryStorage({ turns: env.turns })
})

function put(name: string, ...batches: Uint8Array[]): void {
  storage.open(`t-0/${name}`, { create: true }).appendv(batches)
}
const at = (baseOffset: number) => batchOf(['x'], { baseOffset })
const finish = () => {
  const names = finishLeftovers(storage, 't-0', env)
  env.settle()
  expect(storage.list('t-0')).toEqual(names)
  return names
}

describe('what a crash left of a log', () => {
  it('is nothing for a log that is not there', () => {
    expect(finish()).toEqual([])
  })

  it('goes when it was deleted, or was not finished', () => {
    for (const suffix of ['.deleted', '.cleaned']) {
      put(`${segmentName(0)}${suffix}`, at(0))
      put(`${fileName(0, '.index')}${suffix}`)
    }
    put(segmentName(0), at(0))
    put('notes.txt')
    expect(finish()).toEqual([segmentName(0), 'notes.txt'])
    expect(env.lines).toEqual([])
  })

  it('takes its place when it was finished: what it was made of goes, with its indexes', () => {
    put(`${segmentName(0)}.swap`, at(0), at(7))
    for (const base of [0, 4, 8]) {
      put(segmentName(base), at(base))
      put(fileName(base, '.index'))
    }
    const swapped = storage.open(`t-0/${segmentName(0)}.swap`).size
    expect(finish()).toEqual([segmentName(0), fileName(8, '.index'), segmentName(8)].sort())
    expect(storage.open(`t-0/${segmentName(0)}`).size).toBe(swapped)
    expect(env.lines).toMatchObject([{ level: 'info' }])
  })

  it('takes its place, too, when all that it was made of is gone already, or nothing is in it', () => {
    put(`${segmentName(4)}.swap`)
    put(segmentName(4), at(4))
    put(segmentName(8), at(8))
    expect(finish()).toEqual([segmentName(4), segmentName(8)])
    expect(storage.open(`t-0/${segmentName(4)}`).size).toBe(0)
  })
})
