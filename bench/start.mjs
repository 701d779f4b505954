/**
 * How long until a broker is there: from spawn to the first answered ApiVersions, and from the call of `startBroker()` in a
 * process that runs to its result; and how much memory it holds then. `node -e 0` and a TCP server of three lines in the same
 * run show what Node itself takes.
 *
 *   node bench/start.mjs [--runs 15] [--kafka]      --kafka: Apache Kafka too, from test/oracle (needs Java and Maven)
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median, percentile, printTable } from './support/numbers.mjs'
import { CLEAN_ENV, COMMAND, cpuSeconds, residentMegabytes } from './support/processes.mjs'
import { apiVersions } from './support/wire.mjs'

const { values: options } = parseArgs({
  options: { runs: { type: 'string', default: '15' }, kafka: { type: 'boolean', default: false } },
})
const runs = Number(options.runs)
const TCP_SERVER =
  "require('net').createServer(s => s.on('data', d => s.write(d))).listen(process.argv[1], '127.0.0.1')"

const rows = [
  await measure('node -e 0', bareNode),
  await measure('TCP server of three lines', port => spawned(['-e', TCP_SERVER, port], port)),
  await measure('ottla start', port => spawned([COMMAND, 'start', '--port', port], port)),
  await measure('startBroker() in a warm process', warmStart()),
]
if (options.kafka) rows.push(await measure('Apache Kafka (formats its directory first)', kafka, 3))
console.log(`Node ${process.version}, milliseconds from start to the first answer: medians, CPU on average\n`)
printTable(rows)

async function measure(what, start, times = runs) {
  const results = []
  for (let run = 0; run < times + 1; run++) results.push(await start(String(await freePort())))
  // The first finds files that are not in memory yet.
  const kept = results.slice(1)
  return {
    what,
    ms: median(kept.map(each => each.ms)),
    min: percentile(
      kept.map(each => each.ms),
      0,
    ),
    'CPU ms': kept.reduce((sum, each) => sum + each.cpu, 0) / kept.length,
    'resident MB': median(kept.map(each => each.megabytes)),
    runs: times,
  }
}

async function bareNode() {
  const began = performance.now()
  await once(spawn(process.execPath, ['-e', '0'], { env: CLEAN_ENV }), 'exit')
  return { ms: performance.now() - began, cpu: Number.NaN, megabytes: Number.NaN }
}

async function spawned(args, port) {
  const began = performance.now()
  const child = spawn(process.execPath, args, { stdio: 'ignore', env: CLEAN_ENV })
  await answered(port)
  const ms = performance.now() - began
  const cpu = cpuSeconds(child.pid) * 1000
  await sleep(300)
  const megabytes = residentMegabytes(child.pid)
  child.kill('SIGTERM')
  await once(child, 'exit')
  return { ms, cpu, megabytes }
}

function warmStart() {
  const loading = import(new URL('../dist/node/index.js', import.meta.url).href)
  return async () => {
    const { startBroker } = await loading
    const before = residentMegabytes(process.pid)
    const usage = process.cpuUsage()
    const began = performance.now()
    const broker = await startBroker()
    const ms = performance.now() - began
    const { user, system } = process.cpuUsage(usage)
    const megabytes = residentMegabytes(process.pid) - before
    await broker.close()
    return { ms, cpu: (user + system) / 1000, megabytes }
  }
}

async function kafka(port) {
  const script = fileURLToPath(new URL('../test/oracle/kafka', import.meta.url))
  const directory = join(mkdtempSync(join(tmpdir(), 'ottla-bench-')), 'kafka')
  const began = performance.now()
  spawn(script, ['start', '--dir', directory, '--port', port], { stdio: 'ignore' })
  await answered(port, 120_000)
  const ms = performance.now() - began
  await sleep(2000)
  const pid = Number(readFileSync(join(directory, 'pid'), 'utf8'))
  const [cpu, megabytes] = [cpuSeconds(pid) * 1000, residentMegabytes(pid)]
  execFileSync(script, ['stop', '--dir', directory], { stdio: 'ignore' })
  rmSync(directory, { recursive: true, force: true })
  return { ms, cpu, megabytes }
}

/** Tries every millisecond until ApiVersions is answered. */
async function answered(port, timeoutMs = 10_000) {
  const deadline = performance.now() + timeoutMs
  while (!(await tryOnce(port))) {
    if (performance.now() > deadline) throw new Error(`nobody answers on port ${port}`)
    await sleep(1)
  }
}

function tryOnce(port) {
  return new Promise(resolve => {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(apiVersions()))
    socket.on('data', () => {
      resolve(true)
      socket.destroy()
    })
    socket.on('error', () => resolve(false))
    socket.on('close', () => resolve(false))
  })
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

function sleep(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}
