/**
 * The log of committed offsets after many commits: how large it is when it was never cleaned and when the cleaner did its work, and how
 * long a broker that is started on it takes until it answers for a group. With few groups that commit often, nearly all of it is old.
 *
 *   node bench/offsets.mjs [--commits 200000] [--groups 50] [--runs 7]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { Link } from './support/link.mjs'
import { median, percentile, printTable } from './support/numbers.mjs'
import { CLEAN_ENV, COMMAND, cpuSeconds } from './support/processes.mjs'
import {
  createTopic,
  findCoordinator,
  offsetCommit,
  offsetCommitError,
  offsetFetch,
  readOffsetFetch,
} from './support/wire.mjs'

const { values: options } = parseArgs({
  options: {
    commits: { type: 'string', default: '200000' },
    groups: { type: 'string', default: '50' },
    runs: { type: 'string', default: '7' },
  },
})
const PARTITIONS = Array.from({ length: 10 }, (_, index) => index)
const GROUPS = Array.from({ length: Number(options.groups) }, (_, index) => `group-${index}`)
const ROUNDS = Math.ceil(Number(options.commits) / GROUPS.length / PARTITIONS.length)
const CONFIGS = {
  'offsets.topic.num.partitions': 1,
  'offsets.topic.segment.bytes': 1 << 20,
  'log.segment.delete.delay.ms': 0,
  'log.cleaner.backoff.ms': 200,
}

async function measure(what, isCleaned) {
  const directory = mkdtempSync(join(tmpdir(), 'ottla-bench-'))
  const configs = { ...CONFIGS, 'log.cleaner.enable': isCleaned }
  try {
    const first = await start(directory, configs)
    await commitAll(first.link)
    // What is left to be cleaned, and the files that go.
    if (isCleaned) await sleep(3000)
    await first.stop()
    const starts = []
    for (let run = 0; run < Number(options.runs); run++) {
      const broker = await start(directory, configs)
      const { ms, cpu } = broker
      starts.push({ ms, cpu })
      await broker.stop()
    }
    const of = name => starts.map(each => each[name])
    const row = { what, commits: ROUNDS * GROUPS.length * PARTITIONS.length, 'MB on disk': megabytesOf(directory) }
    return { ...row, 'start ms': median(of('ms')), min: percentile(of('ms'), 0), 'CPU ms': median(of('cpu')) }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** A broker that answers for the last group. */
async function start(directory, configs) {
  const began = performance.now()
  const args = ['start', '--port', '0', '--data', join(directory, 'data')]
  for (const [name, value] of Object.entries(configs)) args.push('-c', `${name}=${value}`)
  const child = spawn(process.execPath, [COMMAND, ...args], { stdio: ['ignore', 'pipe', 'inherit'], env: CLEAN_ENV })
  const link = await Link.open(await portOf(child), '127.0.0.1')
  for (;;) {
    await link.ask(findCoordinator(GROUPS[0]))
    const { error } = readOffsetFetch(await link.ask(offsetFetch(GROUPS.at(-1), 't', 0)))
    if (error === 0) break
    await sleep(1)
  }
  return {
    link,
    ms: performance.now() - began,
    cpu: cpuSeconds(child.pid) * 1000,
    async stop() {
      link.close()
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

async function portOf(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    const match = /address\s+\S+:(\d+)/.exec(line)
    if (match === null) continue
    child.stdout.resume()
    return Number(match[1])
  }
  throw new Error('the broker ended before it listened')
}

/** Each group commits for all partitions, again and again, one request after the other. */
async function commitAll(link) {
  await link.ask(createTopic('t', PARTITIONS.length))
  for (let round = 0; round < ROUNDS; round++) {
    for (const group of GROUPS) {
      const error = offsetCommitError(await link.ask(offsetCommit(group, 't', PARTITIONS, round)))
      if (error !== 0) throw new Error(`OffsetCommit was answered with error ${error}`)
    }
  }
  const { offset } = readOffsetFetch(await link.ask(offsetFetch(GROUPS.at(-1), 't', 0)))
  if (offset !== ROUNDS - 1) throw new Error(`the committed offset is ${offset}`)
}

function megabytesOf(directory) {
  const log = join(directory, 'data/__consumer_offsets-0')
  return readdirSync(log).reduce((sum, name) => sum + statSync(join(log, name)).size, 0) / 1e6
}

function sleep(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

const rows = [await measure('never cleaned', false), await measure('cleaned', true)]
console.log(`${GROUPS.length} groups, Node ${process.version}; from spawn to the committed offset of a group\n`)
printTable(rows)
