/**
 * Before the run: Java's archive of the classes of Kafka's tools and clients, without which each of the hundreds of JVMs of a run
 * loads and checks them again, for twice the time. It lies beside the jars, and is written once. Nothing but time depends on it.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startBroker } from '../../../src/node/index.ts'

const ORACLE = fileURLToPath(new URL('../../oracle/kafka', import.meta.url))
const execute = promisify(execFile)

export async function setup(): Promise<void> {
  try {
    if (existsSync(await pathOfArchive())) return
    await using broker = await startBroker({ log: false })
    await pathOfArchive(broker.bootstrapServers)
  } catch (error) {
    // Whoever needs Java says so, and whether that is a failure.
    console.warn(`conformance: no archive of Java's classes: ${String(error).split('\n')[0]}`)
  }
}

/** Where the archive is, or would be; with the address of a broker it is written, if this Java can. */
export async function pathOfArchive(...broker: string[]): Promise<string> {
  const { stdout } = await execute(ORACLE, ['archive', ...broker], { timeout: 240_000 })
  return stdout.trim()
}
