/**
 * The processes that are measured, each a child of the benchmark: the broker, and the bare TCP servers to compare with.
 * What they use is read from /proc, so benchmarks run on Linux.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const COMMAND = fileURLToPath(new URL('../../dist/bin/ottla.js', import.meta.url))
const BARE = fileURLToPath(new URL('./bare.mjs', import.meta.url))

/** Reading a file of certificates costs Node 20 some 30 ms at start, which are not the broker's. */
export const CLEAN_ENV = { ...process.env, NODE_EXTRA_CA_CERTS: undefined }

/** Runs `node` with `args` until it prints a line that `pattern` matches; gives the process and the port in it. */
async function startNode(args, pattern) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env: CLEAN_ENV })
  for await (const line of createInterface({ input: child.stdout })) {
    const match = pattern.exec(line)
    if (match === null) continue
    child.stdout.resume()
    return {
      pid: child.pid,
      host: '127.0.0.1',
      port: Number(match[1]),
      async stop() {
        child.kill('SIGTERM')
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      },
      async kill() {
        child.kill('SIGKILL')
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      },
    }
  }
  throw new Error(`${args.join(' ')} ended before it listened`)
}

function startOttla(...args) {
  return startNode([COMMAND, 'start', '--port', '0', ...args], /address\s+\S+:(\d+)/)
}

/** `sink` counts bytes and says how many when the far side ends; `echo` sends them back. */
export function startBare(kind) {
  return startNode([BARE, kind], /listening on (\d+)/)
}

/** The broker to measure: `--target host:port --pid N`, or an Ottla of our own. */
export async function startTarget(options, ...args) {
  if (options.target === undefined) return { name: 'ottla', ...(await startOttla(...args)) }
  const [host, port] = options.target.split(':')
  return { name: options.target, host, port: Number(port), pid: Number(options.pid), stop: async () => {} }
}

/** Seconds of CPU that a process has used so far, all its threads, user and system. */
export function cpuSeconds(pid) {
  if (!pid) return Number.NaN
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/**
 * Seconds that the main thread of a process could have run but waited for a core, because others had them all. On a machine that does
 * other things these are in every delay that is measured.
 */
export function waitedSeconds(pid) {
  if (!pid) return Number.NaN
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e9
}

/** Resident memory of a process, in megabytes. */
export function residentMegabytes(pid) {
  if (!pid) return Number.NaN
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024
}
