/**
 * The clusters that are measured, each with the same handle: Ottla's, all brokers in one child process, and Apache Kafka's from test/oracle,
 * a process for each broker and one for the controller.
 */
import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { CLEAN_ENV, cpuSeconds, residentMegabytes } from './processes.mjs'
import { metadata, readMetadata } from './wire.mjs'

const CLUSTER = fileURLToPath(new URL('./cluster.mjs', import.meta.url))
const KAFKA = fileURLToPath(new URL('../../test/oracle/kafka', import.meta.url))
const run = promisify(execFile)

/** Starts Ottla's cluster; the options are those of `startCluster`. */
export async function startOttlaCluster(options) {
  const child = fork(CLUSTER, [JSON.stringify(options)], { env: CLEAN_ENV })
  const [{ addresses, importMs, startMs }] = await once(child, 'message')
  const waiting = new Map()
  let lastId = 0
  child.on('message', ({ id, error }) => waiting.get(id)(error))
  const tell = (act, broker) =>
    new Promise((resolve, reject) => {
      const id = ++lastId
      waiting.set(id, error => (error ? reject(new Error(error)) : resolve()))
      child.send({ id, act, broker })
    })
  return {
    name: options.workers ? 'Ottla, workers' : 'Ottla',
    addresses,
    importMs,
    startMs,
    kill: broker => tell('kill', broker),
    stopBroker: broker => tell('stop', broker),
    restart: broker => tell('restart', broker),
    cpuSeconds: () => cpuSeconds(child.pid),
    residentMegabytes: () => residentMegabytes(child.pid),
    async stop() {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

/** Starts Apache Kafka; `configs` are by Kafka's names. */
export async function startKafkaCluster({ brokers, configs, port = 32_092 }) {
  const directory = join(mkdtempSync(join(tmpdir(), 'ottla-bench-')), 'kafka')
  const settings = Object.entries(configs).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const args = ['start', '--dir', directory, '--port', String(port), '--brokers', String(brokers), ...settings]
  const { stdout } = await run(KAFKA, args)
  const pid = node => Number(readFileSync(join(directory, `${node}.pid`), 'utf8'))
  const nodes = [...Array.from({ length: brokers }, (_, index) => index + 1), ...(brokers > 1 ? [100] : [])]
  const sum = measure => nodes.reduce((total, node) => total + measure(pid(node)), 0)
  return {
    name: 'Apache Kafka',
    addresses: stdout.trim().split(','),
    // The signal is sent here: a shell to send it would be part of the figure.
    kill: async broker => void process.kill(pid(broker), 'SIGKILL'),
    stopBroker: async broker => void process.kill(pid(broker), 'SIGTERM'),
    async restart(broker) {
      while (isAlive(pid(broker))) await sleep(20)
      await run(KAFKA, ['restart', String(broker), '--dir', directory])
    },
    cpuSeconds: () => sum(cpuSeconds),
    residentMegabytes: () => sum(residentMegabytes),
    stop: () => run(KAFKA, ['stop', '--dir', directory]),
  }
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

export function sleep(ms) {
  return new Promise(resolve => setTimeout(resolve, ms))
}

/** Asks one thing on a connection of its own; undefined when that fails, or takes longer than `timeoutMs`. */
export function askOnce({ host, port }, frame, timeoutMs = 1000) {
  return new Promise(resolve => {
    const socket = connect({ host, port: Number(port), noDelay: true })
    let received = Buffer.alloc(0)
    const end = answer => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(timeoutMs, () => end(undefined))
    socket.on('connect', () => socket.write(frame))
    socket.on('error', () => end(undefined))
    socket.on('close', () => end(undefined))
    socket.on('data', data => {
      received = Buffer.concat([received, data])
      if (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) end(received.subarray(4))
    })
  })
}

/** What the first of the cluster's brokers that answers says of a topic. */
export async function look({ addresses }, topic, except) {
  for (const [index, address] of addresses.entries()) {
    if (index + 1 === except) continue
    const [host, port] = address.split(':')
    const answer = await askOnce({ host, port }, metadata())
    if (answer !== undefined) return readMetadata(answer, topic)
  }
  return { addresses: new Map(), leaders: [] }
}

/** Waits until every partition of a topic has a leader; gives where each leader is. */
export async function leadersOf(cluster, topic, partitions) {
  for (;;) {
    const { addresses, leaders } = await look(cluster, topic)
    const found = leaders.map(id => addresses.get(id)).filter(Boolean)
    if (found.length === partitions) return found
    await sleep(50)
  }
}
