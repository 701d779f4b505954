import { expect, it } from 'vitest'
import { VirtualEnv } from '../util/virtual-env.ts'
import { Purgatory } from './purgatory.ts'

function setUp() {
  const env = new VirtualEnv()
  return { env, purgatory: new Purgatory(env) }
}

it('answers when the attempt succeeds, and forgets the timer', () => {
  const { env, purgatory } = setUp()
  let ready = false
  const answer = purgatory.wait(
    1,
    ['a'],
    1000,
    () => (ready ? 'done' : undefined),
    () => 'late',
  )
  purgatory.wake('a')
  env.settle()
  expect(answer.settled).toBe(false)
  ready = true
  purgatory.wake('b')
  env.settle()
  expect(answer.settled).toBe(false)
  purgatory.wake('a')
  expect(answer.settled).toBe(false)
  env.settle()
  expect(answer.value).toBe('done')
  expect(purgatory.size).toBe(0)
  expect(env.timers).toBe(0)
})

it('expires when nothing comes', () => {
  const { env, purgatory } = setUp()
  const answer = purgatory.wait(
    1,
    ['a'],
    1000,
    () => undefined,
    () => 'late',
  )
  env.advance(999)
  expect(answer.settled).toBe(false)
  env.advance(1)
  expect(answer.value).toBe('late')
  expect(purgatory.size).toBe(0)
})

it('looks once per drain, whatever woke it', () => {
  const { env, purgatory } = setUp()
  let attempts = 0
  purgatory.wait(
    1,
    ['a', 'b'],
    1000,
    () => {
      attempts++
      return undefined
    },
    () => 'late',
  )
  purgatory.wake('a')
  purgatory.wake('b')
  purgatory.wake('a')
  env.settle()
  expect(attempts).toBe(1)
})

it('forgets who is gone, and ends all others when asked', () => {
  const { env, purgatory } = setUp()
  const gone = purgatory.wait(
    1,
    ['a'],
    1000,
    () => undefined,
    () => 'late',
  )
  const stays = purgatory.wait(
    2,
    ['a'],
    1000,
    () => undefined,
    () => 'late',
  )
  purgatory.abandon(1)
  purgatory.expireAll()
  env.settle()
  expect(gone.settled).toBe(false)
  expect(stays.value).toBe('late')
  expect(purgatory.size).toBe(0)
  expect(env.timers).toBe(0)
})
