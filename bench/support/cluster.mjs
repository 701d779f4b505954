/**
 * A cluster of Ottla's in a process of its own, started by `clusters.mjs` with its options as JSON; it does what it is told by messages.
 */
import { performance } from 'node:perf_hooks'

const options = JSON.parse(process.argv[2])
const began = performance.now()
const { startCluster } = await import('../../dist/node/index.js')
const imported = performance.now()
const cluster = await startCluster({ log: false, ...options })
const started = performance.now()

process.on('message', async ({ id, act, broker }) => {
  try {
    if (act === 'settled') await cluster.settled()
    else await cluster.broker(broker)[act]()
    process.send({ id })
  } catch (error) {
    process.send({ id, error: String(error) })
  }
})
process.on('disconnect', () => process.exit())
process.send({
  addresses: cluster.bootstrapServers.split(','),
  importMs: imported - began,
  startMs: started - imported,
})
