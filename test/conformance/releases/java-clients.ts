/** The Java clients of an earlier release of Kafka, in the same program as those of today (`../java/Driver.java`). */
import { fileURLToPath } from 'node:url'
import { runProgram } from '../child.ts'
import type { ConformanceClient } from '../client.ts'
import { javaProgram } from '../java/program.ts'
import { jsonVerbs } from '../json-client.ts'
import { scratchPath } from '../scratch.ts'
import { jarsOf } from './record.ts'

const DRIVER = fileURLToPath(new URL('../java/Driver.java', import.meta.url))

export function javaClientsOf(version: string): ConformanceClient {
  const classes = () => scratchPath(`java-${version}`)
  let jars = ''
  return {
    ...javaProgram,
    name: `kafka-clients ${version}`,
    async probe() {
      try {
        jars = await jarsOf(version)
        await runProgram('javac', ['-d', classes(), '-cp', jars, DRIVER], { timeoutMs: 60_000 })
      } catch (error) {
        return { missing: String(error) }
      }
      return { version: `kafka-clients ${version}` }
    },
    ...jsonVerbs(() => [
      ...['java', '-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto'],
      ...['-cp', `${classes()}:${jars}`, 'Driver'],
    ]),
  }
}
