import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { Later } from '../util/later.ts'
import { SystemEnv } from './system-env.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup()
})

function makeEnv() {
  const fatal: string[] = []
  const lines: string[] = []
  const env = new SystemEnv({
    log: (level, message, fields) => lines.push(`${level} ${message} ${JSON.stringify(fields)}`),
    onFatal: error => fatal.push(error.message),
  })
  cleanups.push(() => env.close())
  return { env, fatal, lines }
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** A socket in this process, and what it received. */
async function pair(onData: (text: string) => void) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as { port: number }).port, '127.0.0.1')
  const [accepted] = await once(server, 'connection')
  accepted.on('data', (bytes: Buffer) => onData(bytes.toString()))
  cleanups.push(() => {
    client.destroy()
    accepted.destroy()
    server.close()
  })
  return client
}

describe('SystemEnv', () => {
  it('fires timers in the order in which they are due, whatever the order in which they were set', async () => {
    const { env } = makeEnv()
    const fired: string[] = []
    await new Promise<void>(resolve => {
      env.timer(30, () => fired.push('late') && resolve())
      env.timer(10, () => fired.push('early'))
      const cancelled = env.timer(5, () => fired.push('cancelled'))
      env.timer(10, () => fired.push('early, set later'))
      cancelled.cancel()
    })
    expect(fired).toEqual(['early', 'early, set later', 'late'])
  })

  it('drains the turns after each timer and then tells the listeners of events', async () => {
    const { env } = makeEnv()
    const steps: string[] = []
    const stop = env.afterEvents(() => steps.push('after'))
    await new Promise<void>(resolve => {
      env.timer(1, () => {
        const later = new Later<string>(env.turns)
        later.whenSettled(text => steps.push(text))
        later.settle('turn')
        steps.push('timer')
      })
      env.timer(2, resolve)
    })
    stop()
    env.event(() => {})
    expect(steps).toEqual(['timer', 'turn', 'after', 'after'])
  })

  it('reports what an event, a turn and a timer throw, and goes on', async () => {
    const { env, fatal } = makeEnv()
    expect(env.event(() => boom('event'))).toBe(false)
    expect(
      env.event(() => {
        env.turns.enqueue(() => boom('turn'))
        env.turns.enqueue(() => fatal.push('next turn'))
      }),
    ).toBe(true)
    await new Promise<void>(resolve => {
      env.timer(1, () => boom('timer'))
      env.timer(2, resolve)
    })
    expect(fatal).toEqual(['event', 'turn', 'next turn', 'timer'])
  })

  it('reads sockets before timers that became due while the event loop was blocked', async () => {
    const { env } = makeEnv()
    const order: string[] = []
    const client = await pair(text => order.push(text))
    await new Promise<void>(resolve => {
      env.timer(10, () => {
        order.push('session expired')
        resolve()
      })
      client.write('heartbeat')
      block(50)
    })
    expect(order).toEqual(['heartbeat', 'session expired'])
  })

  it('after a long block, waits for those in the same process who could not speak either', async () => {
    const { env, lines } = makeEnv()
    const order: string[] = []
    const client = await pair(text => order.push(text))
    await new Promise<void>(resolve => {
      env.timer(10, () => {
        order.push('session expired')
        resolve()
      })
      setTimeout(() => setTimeout(() => setTimeout(() => client.write('heartbeat'), 1), 1), 20)
      block(1100)
    })
    expect(order).toEqual(['heartbeat', 'session expired'])
    expect(lines).toEqual([expect.stringContaining('warn the event loop was blocked')])
  })

  it('sets no timer after it was closed, so that the process can end', async () => {
    const { env } = makeEnv()
    let fired = false
    env.timer(1, () => {
      fired = true
    })
    env.close()
    env.timer(1, () => {
      fired = true
    })
    await new Promise(resolve => setTimeout(resolve, 20))
    expect(fired).toBe(false)
  })

  it('draws numbers from [0, 1) that fill all 53 bits', () => {
    const { env } = makeEnv()
    const drawn = Array.from({ length: 3000 }, () => env.random())
    expect(drawn.every(number => number >= 0 && number < 1)).toBe(true)
    expect(new Set(drawn).size).toBe(3000)
    expect(drawn.some(number => (number * 2 ** 53) % 2 === 1)).toBe(true)
    expect(Math.abs(drawn.reduce((sum, number) => sum + number, 0) / 3000 - 0.5)).toBeLessThan(0.05)
  })
})

describe('SystemEnv in virtual time', () => {
  const virtual = () => {
    const env = new SystemEnv({ log() {}, onFatal: error => boom(error.message), virtualTime: true })
    cleanups.push(() => env.close())
    return env
  }

  it('fires what becomes due in order, each at its own time, before advance returns', () => {
    const env = virtual()
    const fired: [string, number][] = []
    const began = env.now()
    const note = (name: string) => fired.push([name, Math.round((env.now() - began) / 1000)])
    env.timer(86_400_000, () => note('a day'))
    env.timer(3_600_000, () => {
      note('an hour')
      env.timer(3_600_000, () => note('another'))
      env.turns.enqueue(() => note('what follows'))
    })
    env.timer(86_401_000, () => note('too late'))
    env.advance(86_400_500)
    expect(fired).toEqual([
      ['an hour', 3600],
      ['what follows', 3600],
      ['another', 7200],
      ['a day', 86_400],
    ])
    expect(env.now() - began).toBeGreaterThanOrEqual(86_400_500)
    env.advance(500)
    expect(fired).toHaveLength(5)
  })

  it('leaves timers of clients alone unless asked, and those still fire by the real clock', async () => {
    const env = virtual()
    const fired: string[] = []
    env.timer(20, () => fired.push('client'), 'client')
    env.timer(30_000, () => fired.push('session'), 'client')
    env.timer(40_000, () => fired.push('broker'))
    env.advance(60_000)
    expect(fired).toEqual(['broker'])
    await expect.poll(() => fired, { timeout: 10_000 }).toEqual(['broker', 'client'])
    env.timer(10_000, () => fired.push('broker again'))
    env.advance(15_000, { clients: true })
    expect(fired).toEqual(['broker', 'client', 'broker again'])
    env.advance(15_000, { clients: true })
    expect(fired).toEqual(['broker', 'client', 'broker again', 'session'])
  })

  it('goes on with the real clock after it was moved', async () => {
    const env = virtual()
    let fired = false
    env.timer(60_020, () => {
      fired = true
    })
    env.advance(60_000)
    expect(fired).toBe(false)
    await expect.poll(() => fired, { timeout: 10_000 }).toBe(true)
  })

  it('cannot be moved in real time, nor back', () => {
    expect(() => makeEnv().env.advance(1)).toThrow('cannot be moved')
    expect(() => virtual().advance(-1)).toThrow('cannot be moved')
  })
})

function boom(message: string): never {
  throw new Error(message)
}
