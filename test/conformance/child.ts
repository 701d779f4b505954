/**
 * Child processes of the conformance run: started, read line by line, bounded in time, and none left behind.
 *
 * Not a shell: the arguments go to the program as they are.
 */
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const running = new Set<ChildProcessWithoutNullStreams>()

/** One child process with its output, as lines. */
export class Child {
  readonly stdout: string[] = []
  readonly stderr: string[] = []
  /** The exit code, or the signal's name, once it ended and its output was read to the end. */
  readonly ended: Promise<number | string>
  status: number | string | undefined
  readonly #process: ChildProcessWithoutNullStreams

  constructor(command: string, args: string[], onLine?: (line: string, stream: 'stdout' | 'stderr') => void) {
    this.#process = spawn(command, args, { stdio: 'pipe' })
    const child = this.#process
    running.add(child)
    for (const stream of ['stdout', 'stderr'] as const) {
      createInterface({ input: child[stream] }).on('line', line => {
        this[stream].push(line)
        onLine?.(line, stream)
      })
    }
    // A program that ends before it read all of its input is no error of ours; its exit code tells.
    child.stdin.on('error', () => {})
    this.ended = new Promise(resolve => {
      child.on('error', error => this.stderr.push(String(error)))
      child.on('close', (code, signal) => {
        running.delete(child)
        this.status = code ?? signal ?? 'unknown'
        resolve(this.status)
      })
    })
  }

  write(text: string): void {
    this.#process.stdin.write(text)
  }

  endInput(): void {
    this.#process.stdin.end()
  }

  kill(signal: 'SIGTERM' | 'SIGINT' | 'SIGKILL'): void {
    this.#process.kill(signal)
  }

  /** What it printed, for an error message. */
  transcript(): string {
    return [...this.stderr.slice(-20), ...this.stdout.slice(-5)].join('\n')
  }
}

/**
 * Runs a program to its end and gives the lines of its standard output.
 *
 * @throws Error with what it printed, when it fails or is not done after `timeoutMs`, or when a line matches `failure`, for
 * programs that end well whatever happens.
 */
export async function runProgram(
  command: string,
  args: string[],
  options: { input?: string; timeoutMs?: number; failure?: RegExp } = {},
): Promise<string[]> {
  const child = new Child(command, args)
  if (options.input !== undefined) child.write(options.input)
  child.endInput()
  const timeoutMs = options.timeoutMs ?? 14_000
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  const status = await child.ended
  clearTimeout(timer)
  if (status !== 0) {
    const reason = status === 'SIGKILL' ? `was not done after ${timeoutMs} ms` : `ended with ${status}`
    throw new Error(`${[command, ...args].join(' ')} ${reason}\n${child.transcript()}`)
  }
  if (options.failure && [...child.stdout, ...child.stderr].some(line => options.failure!.test(line))) {
    throw new Error(child.transcript())
  }
  return child.stdout
}

/** Ends whatever a failed test left running. */
export function killChildren(): void {
  for (const child of running) child.kill('SIGKILL')
}

/**
 * Polls until `ready` gives something truthy. Real processes are watched here, so this waits in real time.
 *
 * @throws Error with `describe()` when it never does.
 */
export async function waitUntil<T>(
  ready: () => T | undefined | false | Promise<T | undefined | false>,
  describe: () => string,
  timeoutMs = 14_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs
  for (;;) {
    const value = await ready()
    if (value) return value
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${describe()}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/**
 * Waits for work of real processes no longer than `timeoutMs`.
 *
 * @throws Error that names `what` when it takes longer
 */
export async function within<T>(timeoutMs: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${timeoutMs} ms: ${what}`)), timeoutMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
