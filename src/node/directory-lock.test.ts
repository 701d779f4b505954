import { createHash } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { DirectoryLock } from './directory-lock.ts'

const directories: string[] = []

afterEach(() => {
  for (const directory of directories.splice(0)) fs.rmSync(directory, { recursive: true, force: true })
})

function directory(): string {
  const made = fs.mkdtempSync(join(tmpdir(), 'ottla-lock-'))
  directories.push(made)
  return made
}

/** Somebody who has the directory. */
async function holder(path: string, meet: (socket: net.Socket) => void): Promise<net.Server> {
  const { dev, ino } = fs.statSync(path, { bigint: true })
  const id = createHash('sha256').update(`${dev}:${ino}`).digest('hex').slice(0, 32)
  const server = net.createServer(meet)
  await new Promise<void>(resolve => server.listen(`\0ottla-${id}`, resolve))
  onTestFinished(() => void server.close())
  return server
}

describe('a lock', () => {
  it('is given back, and can be had again at once', async () => {
    const path = directory()
    for (let time = 0; time < 20; time++) {
      const lock = new DirectoryLock(path)
      expect(await lock.acquire()).toBeUndefined()
      expect(await new DirectoryLock(path).holder()).toBe(`the broker of process ${process.pid}`)
      await lock.release()
      expect(await new DirectoryLock(path).holder()).toBeUndefined()
    }
  })

  it('is refused with the name of whoever has it', async () => {
    const path = directory()
    const lock = new DirectoryLock(path)
    await lock.acquire()
    const message = `${path} is in use by the broker of process ${process.pid}`
    expect(await new DirectoryLock(path).acquire()).toEqual({ code: 'ELOCKED', message })
    await lock.release()
  })
})

describe.runIf(process.platform === 'linux')('a lock that somebody has', () => {
  it('is had once that one has ended, who closes connections without a word', async () => {
    const path = directory()
    let met = 0
    const server = await holder(path, socket => {
      socket.destroy()
      if (++met === 2) server.close()
    })
    const lock = new DirectoryLock(path)
    expect(await lock.acquire()).toBeUndefined()
    expect(met).toBe(2)
    await lock.release()
  })

  it('is refused when that one goes on closing connections, or is too busy to answer', async () => {
    for (const meet of [(socket: net.Socket) => void socket.destroy(), () => {}]) {
      const path = directory()
      await holder(path, meet)
      const message = `${path} is in use by another process`
      expect(await new DirectoryLock(path).acquire()).toEqual({ code: 'ELOCKED', message })
    }
  })
})
