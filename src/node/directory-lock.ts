/**
 * Keeps a directory for one process at a time, by listening on a socket: it ends with the process, however that ends, so no
 * lock is ever stale, and whoever finds it taken can ask who has it. No pid file: a pid is given to another process one day.
 *
 * On Linux the socket has an abstract name made of the directory's device and inode. Such names are not seen by other containers,
 * which may have the same directory mounted; for them a socket lies in the directory too. Node cuts paths of sockets that are
 * longer than 107 bytes without a word, so long paths are gone round.
 */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FileSystemFailure } from '../storage/file-system.ts'

/** The socket in the directory. */
const LOCK_FILE = 'ottla.lock'
const LONGEST_PATH = 103
/** A holder that is busy does not answer at once; that it has the lock is known all the same. */
const ANSWER_MS = 300
/** One that closes the connection without a word is giving it back. */
const ENDING_MS = 20
const TRIES = 5

/** What somebody who listens says of itself, '' for nothing yet; that it is ending; or that there is nobody. */
type Answer = string | { readonly isEnding: boolean }

const NOBODY = { isEnding: false }
const ENDING = { isEnding: true }

export class DirectoryLock {
  readonly #directory: string
  #held: { server: net.Server; sockets: Set<net.Socket> }[] = []
  #descriptor: number | undefined

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Resolves with the reason when somebody has it. */
  async acquire(): Promise<FileSystemFailure | undefined> {
    for (const address of this.#addresses()) {
      const failure = await this.#claim(address, TRIES)
      if (failure === undefined) continue
      await this.release()
      return failure
    }
    return undefined
  }

  async release(): Promise<void> {
    for (const { server, sockets } of this.#held.splice(0).reverse()) {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    }
    if (this.#descriptor !== undefined) fs.closeSync(this.#descriptor)
    this.#descriptor = undefined
  }

  /** Who has it, in words; undefined when nobody does. Takes nothing. */
  async holder(): Promise<string | undefined> {
    try {
      for (const address of this.#addresses()) {
        const answer = await ask(address)
        if (typeof answer === 'string') return nameOf(answer)
      }
      return undefined
    } finally {
      await this.release()
    }
  }

  /** All that have to be had; the first is the one that has no races. */
  #addresses(): string[] {
    const { dev, ino } = fs.statSync(this.#directory, { bigint: true })
    const id = createHash('sha256').update(`${dev}:${ino}`).digest('hex').slice(0, 32)
    if (process.platform === 'win32') return [`\\\\.\\pipe\\ottla-${id}`]
    const inside = join(this.#directory, LOCK_FILE)
    if (process.platform !== 'linux') {
      return [Buffer.byteLength(inside) <= LONGEST_PATH ? inside : join(tmpdir(), `ottla-${id}`)]
    }
    if (Buffer.byteLength(inside) <= LONGEST_PATH) return [`\0ottla-${id}`, inside]
    this.#descriptor = fs.openSync(this.#directory, 'r')
    return [`\0ottla-${id}`, `/proc/self/fd/${this.#descriptor}/${LOCK_FILE}`]
  }

  async #claim(address: string, tries: number): Promise<FileSystemFailure | undefined> {
    const error = await this.#listen(address)
    if (error === undefined) return undefined
    if (error.code !== 'EADDRINUSE') {
      // Not every file system has sockets; on Linux the abstract name is held by now.
      if (this.#held.length > 0) return undefined
      return { code: error.code ?? 'EIO', message: `cannot lock ${this.#directory}: ${error.message}` }
    }
    const answer = await ask(address)
    if (typeof answer !== 'string' && tries > 0) {
      if (answer.isEnding) await new Promise(resolve => setTimeout(resolve, ENDING_MS))
      // It was left by a process that was killed.
      else if (isPath(address)) fs.rmSync(address, { force: true })
      return this.#claim(address, tries - 1)
    }
    return { code: 'ELOCKED', message: `${this.#directory} is in use by ${nameOf(answer)}` }
  }

  #listen(address: string): Promise<NodeJS.ErrnoException | undefined> {
    return new Promise(resolve => {
      const sockets = new Set<net.Socket>()
      const server = net.createServer(socket => {
        sockets.add(socket)
        socket.on('close', () => sockets.delete(socket))
        socket.on('error', () => socket.destroy())
        socket.end(`broker of process ${process.pid}`)
      })
      server.unref()
      server.once('error', resolve)
      server.listen(address, () => {
        server.removeListener('error', resolve)
        // A connection that could not be accepted is not our concern.
        server.on('error', () => {})
        this.#held.push({ server, sockets })
        resolve(undefined)
      })
    })
  }
}

function ask(address: string): Promise<Answer> {
  return new Promise(resolve => {
    let answer = ''
    const socket = net.connect(address)
    socket.setTimeout(ANSWER_MS, () => {
      resolve(answer)
      socket.destroy()
    })
    socket.setEncoding('utf8')
    socket.on('data', text => {
      answer += text
    })
    socket.on('close', () => resolve(answer === '' ? ENDING : answer))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      const { code = '' } = error
      if (['ECONNREFUSED', 'ENOENT'].includes(code)) resolve(NOBODY)
      // Any other trouble but that it ends has somebody behind it.
      else if (!['ECONNRESET', 'EPIPE'].includes(code)) resolve(answer)
    })
  })
}

function nameOf(answer: Answer): string {
  return typeof answer === 'string' && answer !== '' ? `the ${answer}` : 'another process'
}

function isPath(address: string): boolean {
  return address.startsWith('/')
}
