/**
 * Kafka's own command line tools: what they print against this broker must be what they printed against Apache Kafka.
 *
 * tools.txt holds the commands and what came out. OTTLA_TARGET=kafka OTTLA_UPDATE_TOOLS=1 records it again. Without Java and
 * Maven the run is skipped with a printed reason; with OTTLA_CONFORMANCE_REQUIRED=1 that is a failure.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startTarget, type Target } from '../broker.ts'
import { Child, killChildren } from '../child.ts'
import { removeScratch, scratchPath } from '../scratch.ts'
import { parseTranscript, renderTranscript } from './transcript.ts'
import { withoutWhatVaries } from './varies.ts'

const ORACLE = fileURLToPath(new URL('../../oracle/kafka', import.meta.url))
const TRANSCRIPT = new URL('tools.txt', import.meta.url)
const REQUIRED = process.env.OTTLA_CONFORMANCE_REQUIRED === '1'
const UPDATE = process.env.OTTLA_UPDATE_TOOLS === '1' && process.env.OTTLA_TARGET === 'kafka'

/** A tool that tries for longer than this waits for something that does not come. */
const TOOL_TIMEOUT_MS = 60_000

const TIMEOUT = { timeout: TOOL_TIMEOUT_MS + 5000 }

const PACKAGE = 'org.apache.kafka.tools'
const CLASSES: Record<string, string> = {
  acls: `${PACKAGE}.AclCommand`,
  'broker-api-versions': `${PACKAGE}.BrokerApiVersionsCommand`,
  'delete-records': `${PACKAGE}.DeleteRecordsCommand`,
  features: `${PACKAGE}.FeatureCommand`,
  'get-offsets': `${PACKAGE}.GetOffsetShell`,
  'leader-election': `${PACKAGE}.LeaderElectionCommand`,
  'log-dirs': `${PACKAGE}.LogDirsCommand`,
  'reassign-partitions': `${PACKAGE}.reassign.ReassignPartitionsCommand`,
}

/** What Ottla does not print yet, and why. One that prints it after all fails: it is to be taken off the list. */
const PENDING: Record<string, string> = {
  'broker-api-versions': 'transactions, KIP-848 and share groups are not there yet',
  'features describe': 'no feature has a level yet',
  'features upgrade --feature group.version=9': 'no feature has a level yet',
}

const missing = await lacking()
const transcript = parseTranscript(await readFile(TRANSCRIPT, 'utf8'))
const files = new Map<string, string>()
let target: Target

beforeAll(async () => {
  // As many as the oracle has, since the tools show them.
  if (missing === undefined) target = await startTarget({ 'offsets.topic.num.partitions': '5' })
}, 90_000)

afterAll(async () => {
  killChildren()
  await target?.close()
  removeScratch()
  if (UPDATE) await writeFile(TRANSCRIPT, renderTranscript(transcript))
}, 30_000)

describe('command line tools', () => {
  if (missing !== undefined) {
    if (REQUIRED) it('are installed', () => expect.fail(missing))
    else it.skip(`skipped: ${missing}`, () => {})
    return
  }
  for (const command of transcript) {
    const pending = process.env.OTTLA_TARGET === undefined ? PENDING[command.text] : undefined
    const test = pending === undefined ? it : it.fails
    test(pending === undefined ? command.text : `${command.text} (pending: ${pending})`, TIMEOUT, async () => {
      for (const { name, content } of command.files) {
        const path = scratchPath(name)
        await writeFile(path, content)
        files.set(name, path)
      }
      const printed = await run(command.text, command.input)
      if (UPDATE) command.output = printed
      else expect(printed.join('\n')).toBe(command.output.join('\n'))
    })
  }
})

async function run(text: string, input: readonly string[]): Promise<string[]> {
  const [tool, ...args] = text.split(' ').map(word => word.replace(/^\{(.*)\}$/, (_, name) => files.get(name) ?? name))
  const child = new Child(ORACLE, [
    'tool',
    CLASSES[tool] ?? tool,
    '--bootstrap-server',
    target.bootstrapServers,
    ...args,
  ])
  for (const line of input) child.write(`${line}\n`)
  child.endInput()
  const timer = setTimeout(() => child.kill('SIGKILL'), TOOL_TIMEOUT_MS)
  const status = await child.ended
  clearTimeout(timer)
  const lines = withoutWhatVaries([...child.stdout, ...child.stderr], [...files])
  return status === 0 ? lines : [...lines, `exit ${status}`]
}

async function lacking(): Promise<string | undefined> {
  const child = new Child(ORACLE, ['classpath'])
  return (await child.ended) === 0 ? undefined : child.transcript()
}
