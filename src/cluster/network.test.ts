import { describe, expect, it } from 'vitest'
import { Later } from '../util/later.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { Network } from './network.ts'

/** Nodes 1 and 2; what arrives at 2 is noted, and answered with its length. */
function start() {
  const env = new VirtualEnv()
  const network = new Network(env)
  network.start(1)
  network.start(2)
  const arrived: string[] = []
  const send = (text: string, timeoutMs = 10_000) => {
    const answer = network.call(1, 2, timeoutMs, () => {
      arrived.push(text)
      return Later.of(env.turns, text.length)
    })
    env.settle()
    return answer
  }
  return { env, network, arrived, send }
}

/** What came of a call: its value, or that it is not known yet. */
function outcome(later: Later<number | undefined>) {
  return later.settled ? later.value : 'waiting'
}

describe('a network', () => {
  it('carries calls and their answers at once, and leaves no timer', () => {
    const { env, send, arrived } = start()
    expect(outcome(send('abc'))).toBe(3)
    expect([arrived, env.timers]).toEqual([['abc'], 0])
  })

  it('forgets what is on its way when it begins anew, with whole links and no timer left', () => {
    const { env, network, send, arrived } = start()
    network.slow(1, 2, 100)
    const slow = send('a')
    network.heal(1, 2)
    network.cut(2, 1)
    const lost = send('b')
    network.beginAnew()
    expect(env.timers).toBeLessThanOrEqual(2)
    env.advance(10_000)
    expect([outcome(slow), outcome(lost), env.timers]).toEqual([undefined, undefined, 0])
    network.start(1)
    network.start(2)
    expect(outcome(send('abc'))).toBe(3)
    expect(arrived.filter(text => text === 'a')).toEqual([])
  })

  it('loses what goes over a cut way, and says so a little later, or when it is healed', () => {
    const { env, network, send, arrived } = start()
    network.cut(1, 2)
    const first = send('a')
    expect(outcome(first)).toBe('waiting')
    env.advance(500)
    expect(outcome(first)).toBeUndefined()
    const second = send('b')
    network.heal(1, 2)
    env.settle()
    expect([outcome(second), arrived]).toEqual([undefined, []])
    expect(outcome(send('c'))).toBe(1)
  })

  it('loses answers: the call arrived, and who made it does not know', () => {
    const { env, network, send, arrived } = start()
    network.cut(2, 1)
    const answer = send('a')
    env.advance(500)
    expect([outcome(answer), arrived]).toEqual([undefined, ['a']])
  })

  it('keeps the order when a way becomes faster', () => {
    const { env, network, send, arrived } = start()
    network.slow(1, 2, 100)
    send('a')
    network.slow(1, 2, 0)
    send('b')
    expect(arrived).toEqual([])
    env.advance(100)
    expect(arrived).toEqual(['a', 'b'])
  })

  it('loses what is on its way when the way is cut', () => {
    const { env, network, send, arrived } = start()
    network.slow(1, 2, 100)
    const answer = send('a')
    network.cut(1, 2)
    env.advance(1000)
    expect([outcome(answer), arrived]).toEqual([undefined, []])
  })

  it('delivers twice and answers once', () => {
    const { network, send, arrived } = start()
    network.double(1, 2)
    expect(outcome(send('ab'))).toBe(2)
    expect(arrived).toEqual(['ab', 'ab'])
  })

  it('refuses at once where nobody listens, and forgets what the process before was sent', () => {
    const { env, network, send, arrived } = start()
    network.slow(1, 2, 100)
    const late = send('for the one before')
    network.stop(2)
    expect(outcome(send('to nobody'))).toBeUndefined()
    network.start(2)
    env.advance(200)
    expect([outcome(late), arrived]).toEqual([undefined, []])
  })

  it('holds what arrives at a paused node, in order', () => {
    const { env, network, send, arrived } = start()
    network.pause(2)
    send('a')
    send('b')
    expect(arrived).toEqual([])
    network.resume(2)
    env.settle()
    expect(arrived).toEqual(['a', 'b'])
  })

  it('gives up waiting when the time is over', () => {
    const { env, network, send } = start()
    network.pause(2)
    const answer = send('a', 1000)
    env.advance(1000)
    expect(outcome(answer)).toBeUndefined()
  })
})
