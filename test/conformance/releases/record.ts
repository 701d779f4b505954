/**
 * What an earlier release of Kafka tells of itself, asked of its own classes (`Release.java`) and written as the file in
 * `src/broker/emulate/` that holds it.
 */
import { fileURLToPath } from 'node:url'
import type { Release } from '../../../src/broker/emulate/release.ts'
import type { EmulatedRelease } from '../../../src/broker/emulate/releases.ts'
import { runProgram } from '../child.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

/** The class path of a release; Maven fetches it when it is not there yet. */
export async function jarsOf(version: string): Promise<string> {
  const [jars] = await runProgram(path('jars'), [version], { timeoutMs: 240_000 })
  return jars
}

export async function recordRelease(version: string): Promise<Omit<Release, 'version'>> {
  const lines = await runProgram('java', ['-cp', await jarsOf(version), path('Release.java')], { timeoutMs: 60_000 })
  return JSON.parse(lines.join('\n'))
}

/** Where the data of a release is kept. */
export function fileOf(release: EmulatedRelease): string {
  return path(`../../../src/broker/emulate/kafka-${release.replace('.', '-')}.ts`)
}

export function renderRelease(release: EmulatedRelease, version: string, recorded: Omit<Release, 'version'>): string {
  const apis = recorded.apis.map(
    ({ key, name, versions: [min, max] }) => `    { key: ${key}, name: '${name}', versions: [${min}, ${max}] },\n`,
  )
  const features = recorded.features.map(
    ({ name, supported: [min, max], finalized }) =>
      `    { name: '${name}', supported: [${min}, ${max}], finalized: ${finalized} },\n`,
  )
  const listed = features.length < 2 ? features.join('').trim().replace(/,$/, '') : `\n${features.join('')}  `
  return `import type { Release } from './release.ts'

/** What Apache Kafka ${version} tells of itself: recorded, not written by hand. See test/conformance/releases. */
export const KAFKA_${release.replace('.', '_')}: Release = {
  version: '${version}',
  listener: '${recorded.listener}',
  apis: [
${apis.join('')}  ],
  features: [${listed}],
}
`
}
