/**
 * The worker of a broker as ever, but one that a test can get hold of: told by its name on a channel, the thread stands still until it is woken, or
 * throws what nobody catches.
 */
import { BroadcastChannel, workerData } from 'node:worker_threads'
import '../../src/node/worker-from-source.mjs'

const channel = new BroadcastChannel('ottla-test-threads')
channel.unref()
channel.onmessage = ({ data: { run, broker, act, cell } }) => {
  if (run !== process.pid || broker !== workerData.id) return
  if (act === 'block') {
    Atomics.store(cell, 1, 1)
    Atomics.wait(cell, 0, 0)
  } else if (act === 'die') throw new Error('planted')
}
