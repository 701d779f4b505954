import { expect, it } from 'vitest'
import { IndexCache } from './index-cache.ts'

function indexes(sizeInBytes: number, mayGo = true) {
  return {
    recentlyUsed: false,
    sizeInBytes,
    isLoaded: true,
    mayGo,
    unload() {
      if (this.mayGo) this.isLoaded = false
      return this.mayGo
    },
  }
}

it('drops the oldest when there are too many, and gives a second chance to those that are in use', () => {
  const cache = new IndexCache(100)
  const [first, second, third, fourth] = [indexes(40), indexes(40), indexes(40), indexes(40)]
  for (const each of [first, second]) cache.add(each)
  first.recentlyUsed = true
  cache.add(third)
  expect([first, second, third].map(({ isLoaded }) => isLoaded)).toEqual([true, false, true])
  expect(cache.sizeInBytes).toBe(80)
  cache.add(fourth)
  expect([first, third, fourth].map(({ isLoaded }) => isLoaded)).toEqual([true, false, true])
})

it('keeps what cannot be dropped, and one that is larger than all room', () => {
  const cache = new IndexCache(100)
  const [pinned, large] = [indexes(60, false), indexes(500)]
  cache.add(pinned)
  cache.add(large)
  expect([pinned.isLoaded, large.isLoaded, cache.sizeInBytes]).toEqual([true, true, 560])
  pinned.mayGo = true
  cache.add(indexes(10))
  expect([pinned.isLoaded, large.isLoaded, cache.sizeInBytes]).toEqual([false, false, 10])
})

it('counts each once, with the size that it had', () => {
  const cache = new IndexCache(100)
  const growing = indexes(10)
  cache.add(growing)
  growing.sizeInBytes = 30
  cache.add(growing)
  expect(cache.sizeInBytes).toBe(30)
  growing.sizeInBytes = 90
  cache.remove(growing)
  cache.remove(growing)
  expect([cache.sizeInBytes, growing.isLoaded]).toEqual([0, true])
})
