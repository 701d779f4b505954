/**
 * The conformance run: each test is one client in one step, against one broker.
 *
 * The clients go side by side, the steps of one client one after the other. A client that this machine lacks is
 * skipped with a printed reason; with OTTLA_CONFORMANCE_REQUIRED=1 that is a failure. When every client was there and
 * passed, docs/compatibility.md has to say the same (OTTLA_UPDATE_DOCS=1 writes it).
 * OTTLA_REQUEST_LOG=file keeps the request log, for whoever wants to know what went over the wire.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RESTARTS_BROKERS, STARTS_BROKERS, startTarget, type Target } from './broker.ts'
import { killChildren } from './child.ts'
import type { Call, ConformanceClient } from './client.ts'
import { franzGo } from './go/franz/client.ts'
import { sarama } from './go/sarama/client.ts'
import { java } from './java/client.ts'
import { javaProgram } from './java/program.ts'
import { kafkajs } from './kafkajs/client.ts'
import { kcat } from './kcat/client.ts'
import { platformatic } from './platformatic/client.ts'
import { aiokafka } from './python/aiokafka.ts'
import { confluentKafka } from './python/confluent.ts'
import { debianKafkaPython, kafkaPython } from './python/kafka-python.ts'
import { type Reference, startReference } from './reference.ts'
import { checkRequests, countJoins, errorsOf, type RequestRecord, type Role } from './request-log.ts'
import { removeScratch } from './scratch.ts'
import type { Step } from './step.ts'
import { STEPS, type StepName } from './steps.ts'
import { renderTable, type TestedClient } from './table.ts'

const CLIENTS = [
  ...[kcat, confluentKafka, debianKafkaPython, kafkaPython, aiokafka],
  ...[kafkajs, platformatic, franzGo, sarama, java, javaProgram],
]
const REQUIRED = process.env.OTTLA_CONFORMANCE_REQUIRED === '1'
const DOCUMENT = new URL('../../docs/compatibility.md', import.meta.url)

const probes = await Promise.all(CLIENTS.map(async client => ({ client, ...(await client.probe()) })))
const tested: TestedClient[] = []
for (const probe of probes) {
  if ('version' in probe) tested.push(probe)
  else if (!REQUIRED) console.warn(`conformance: ${probe.client.name} is skipped: ${probe.missing}`)
}

/** A broker, and the hands of the run on it. */
interface Place {
  target: Target
  reference: Reference
}

let shared: Target
let reference: Reference
let strict: Target | undefined
const passed = new Set<string>()

beforeAll(async () => {
  shared = await startTarget()
  reference = await startReference(shared.bootstrapServers)
  if (STARTS_BROKERS) strict = await startTarget({ 'auto.create.topics.enable': 'false' })
}, 180_000)

afterAll(async () => {
  killChildren()
  const file = process.env.OTTLA_REQUEST_LOG
  if (file) {
    const logs = await Promise.all([shared, strict].map(target => target?.requests?.() ?? []))
    await writeFile(file, logs.flat().map(toLine).join(''))
  }
  await reference?.close()
  for (const target of [shared, strict]) await target?.close()
  removeScratch()
}, 30_000)

for (const probe of probes) {
  describe.concurrent(probe.client.name, () => {
    if ('missing' in probe) {
      if (REQUIRED) it('is installed', () => expect.fail(probe.missing))
      else it.skip(`skipped: ${probe.missing}`, () => {})
      return
    }
    for (const step of STEPS) {
      const lacks = probe.client.lacks[step.name as StepName]
      if (lacks) it.skip(`${step.name}: lacks it: ${lacks}`, () => {})
      else if (!possible(step)) it.skip(`${step.name}: not with ${process.env.OTTLA_TARGET}`, () => {})
      else addTest(probe.client, step)
    }
  })
}

describe('docs/compatibility.md', () => {
  it('says what this run saw', async context => {
    const steps = CLIENTS.flatMap(client => STEPS.filter(step => !client.lacks[step.name as StepName]))
    if (passed.size < steps.length) return context.skip('not every client passed every step in this run')
    if (shared.name !== 'Ottla') return context.skip(`the broker is ${shared.name}`)
    const rendered = renderTable(tested)
    if (process.env.OTTLA_UPDATE_DOCS === '1') await writeFile(DOCUMENT, rendered)
    // Elsewhere than in CI a client may well have another version than the one in the table.
    else if (REQUIRED) expect(await readFile(DOCUMENT, 'utf8')).toBe(rendered)
  })
})

const toLine = (record: RequestRecord) => `${JSON.stringify(record)}\n`

function possible(step: Step): boolean {
  if (step.broker === 'own') return RESTARTS_BROKERS
  return step.broker !== 'strict' || STARTS_BROKERS
}

function addTest(client: ConformanceClient, step: Step): void {
  let attempt = 0
  it.sequential(step.name, { retry: client.knownFault ? 1 : 0 }, () => {
    if (attempt > 0) console.warn(`conformance: ${client.name}, ${step.name}: once more, because ${client.knownFault}`)
    return runStep(client, step, attempt++)
  })
}

async function runStep(client: ConformanceClient, step: Step, attempt: number): Promise<void> {
  if (!step.broker) return runStepAt({ target: shared, reference }, client, step, attempt)
  const target = step.broker === 'own' ? await startTarget() : strict!
  // A hand that has seen a topic asks for it again and again, also when it was deleted; so each of these gets a new one.
  const own = await startReference(target.bootstrapServers)
  try {
    await runStepAt({ target, reference: own }, client, step, attempt)
  } finally {
    await own.close()
    if (step.broker === 'own') await target.close()
  }
}

async function runStepAt(
  { target, reference }: Place,
  client: ConformanceClient,
  step: Step,
  attempt: number,
): Promise<void> {
  const name = `${client.name} ${step.name}`
  const own = `${name}${attempt || ''}`.replace(/[^a-z0-9]+/gi, '-').toLowerCase()
  const calls: { clientId: string; role: Role }[] = []
  const { bootstrapServers } = target
  await step.run({
    client,
    bootstrapServers,
    reference,
    topic: `${own}-topic`,
    group: `${own}-group`,
    call(role, name): Call {
      const clientId = `${own}-${name}`
      calls.push({ clientId, role })
      return { bootstrapServers, clientId }
    },
    joins: async clientId => target.requests && countJoins(await target.requests(), clientId),
    errors: async clientId => target.requests && errorsOf(await target.requests(), clientId),
    restart: topics => target.restart!(topics),
  })
  if (target.requests) checkRequests(await target.requests(), client, calls, step)
  passed.add(name)
}
