/** A broker in a process of its own on a real directory, which can be killed at any moment and started again. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COMMAND = join(ROOT, 'dist/bin/ottla.js')
const READY_MS = 20_000

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

export class BrokerProcess {
  readonly port: number
  readonly #args: readonly string[]
  #child: ChildProcess | undefined
  /** What it said on stderr since it was first started. */
  errors = ''

  constructor(port: number, directory: string, configs: Readonly<Record<string, string>>) {
    this.port = port
    const set = Object.entries(configs).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    this.#args = ['start', '--port', String(port), '--data', directory, ...set]
  }

  /** Starts it; does not wait until it serves. */
  begin(...configs: string[]): void {
    const child = spawn(process.execPath, [COMMAND, ...this.#args, ...configs], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stderr.on('data', text => (this.errors += text))
    this.#child = child
  }

  /** Starts it and waits until it serves. */
  async start(...configs: string[]): Promise<void> {
    this.begin(...configs)
    const child = this.#child as ChildProcess
    let output = ''
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`no broker within ${READY_MS} ms: ${output}${this.errors}`)),
        READY_MS,
      )
      child.stdout?.on('data', text => {
        output += text
        if (!output.includes('Ctrl-C')) return
        clearTimeout(timer)
        resolve()
      })
      child.once('exit', code => {
        clearTimeout(timer)
        reject(new Error(`the broker ended with ${code}: ${output}${this.errors}`))
      })
    })
  }

  /** Ends it with a signal and waits for its end. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }
}
