/**
 * Two things about earlier releases of Kafka, each with real clients: those of today on a broker that emulates an earlier one
 * speak as they would with it, and the Java clients of an earlier one work with Ottla as it is.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { type EmulatedRelease, RELEASES } from '../../../src/broker/emulate/releases.ts'
import { type RunningBroker, startBroker } from '../../../src/node/index.ts'
import { killChildren } from '../child.ts'
import type { Call, ConformanceClient } from '../client.ts'
import { franzGo } from '../go/franz/client.ts'
import { javaProgram } from '../java/program.ts'
import { kafkajs } from '../kafkajs/client.ts'
import { kcat } from '../kcat/client.ts'
import { platformatic } from '../platformatic/client.ts'
import { confluentKafka } from '../python/confluent.ts'
import { removeScratch } from '../scratch.ts'
import { expectedRecords, keyed, numbered } from '../step.ts'
import { storedRecords } from '../wire.ts'
import { javaClientsOf } from './java-clients.ts'
import { required } from './required.ts'

const CLIENTS = [kafkajs, platformatic, kcat, confluentKafka, franzGo]
const releases = Object.keys(RELEASES) as EmulatedRelease[]
const VALUES = numbered(10)
/** Programs are compiled, and jars fetched, within a test. */
const TIMEOUT_MS = 180_000

afterAll(() => {
  killChildren()
  removeScratch()
})

const start = (emulate?: EmulatedRelease) =>
  startBroker({ emulate, topics: ['orders'], configs: { 'group.min.session.timeout.ms': 1000 } })

/** A producer with sequences sends, and a group takes, commits and goes on. */
async function runThrough(client: ConformanceClient, { bootstrapServers }: RunningBroker): Promise<void> {
  const call = (name: string): Call => ({ bootstrapServers, clientId: `client-${name}` })
  await client.produce(call('producer'), 'orders', keyed(VALUES), { idempotent: true })
  expect((await storedRecords(bootstrapServers, 'orders', 0)).map(({ value }) => value)).toEqual(VALUES)
  const first = await client.consumeAndCommit(call('first'), 'billing', 'orders', 4)
  expect(first).toEqual(expectedRecords(0, VALUES.slice(0, 4), 0))
  const second = await client.consumeAndCommit(call('second'), 'billing', 'orders', 6)
  expect(second).toEqual(expectedRecords(0, VALUES.slice(4), 4))
}

/** What the client under test asked for, each API and version once. */
async function versionsOf(broker: RunningBroker): Promise<{ api: string; version: number }[]> {
  const requests = (await broker.requests()).filter(({ clientId }) => clientId.startsWith('client-'))
  const seen = new Map(requests.map(({ api, version }) => [`${api} v${version}`, { api, version }]))
  return [...seen.values()]
}

const probes = new Map<ConformanceClient, ReturnType<ConformanceClient['probe']>>()

/** Throws for a client that this machine lacks. Some are compiled to find out, which is done once. */
async function found(client: ConformanceClient): Promise<void> {
  const probing = probes.get(client) ?? client.probe()
  probes.set(client, probing)
  const probe = await probing
  if ('missing' in probe) throw new Error(probe.missing)
}

/** What a release tells its clients, and its clients know: the highest version by API. */
function highestOf(release: EmulatedRelease): Map<string, number> {
  return new Map(RELEASES[release].apis.map(({ name, versions }) => [name, versions[1]]))
}

/** With Kafka 4.4 a client speaks the versions of `requests`; with an earlier release the same, or the highest that is told. */
async function speaksAsWith(release: EmulatedRelease, client: ConformanceClient): Promise<void> {
  await using broker = await start(release)
  await runThrough(client, broker)
  const told = highestOf(release)
  const versions = await versionsOf(broker)
  expect(versions.map(({ api }) => api)).toEqual(expect.arrayContaining(['Produce', 'Fetch', 'OffsetCommit']))
  const expected = versions.map(({ api }) => {
    const usual = Math.max(...(client.requests.versions[api] ?? [-1]))
    return { api, version: Math.min(usual, told.get(api) ?? -1) }
  })
  expect(versions).toEqual(expected)
}

describe.concurrent.each(releases)('emulating Kafka %s', release => {
  it.for(CLIENTS.map(client => [client.name, client] as const))(
    '%s speaks the highest versions that both have',
    { timeout: TIMEOUT_MS },
    async ([, client], context) => {
      await required(context, () => found(client))
      await speaksAsWith(release, client)
    },
  )
})

// One after the other: a JVM that starts takes all the processor that it can get.
describe.each(releases)('emulating Kafka %s', release => {
  it('the Java clients of today speak the highest versions that both have', { timeout: TIMEOUT_MS }, async context => {
    await required(context, () => found(javaProgram))
    await speaksAsWith(release, javaProgram)
  })
})

describe('the Java clients', () => {
  it.for(releases)('of Kafka %s', { timeout: TIMEOUT_MS }, async (release, context) => {
    const client = javaClientsOf(RELEASES[release].version)
    await required(context, () => found(client))
    await using broker = await start()
    await runThrough(client, broker)
    const call = { bootstrapServers: broker.bootstrapServers, clientId: 'client-admin' }
    await client.createTopic(call, 'payments', 3, { 'retention.ms': '1000' })
    expect(await client.describeTopic(call, 'payments')).toMatchObject({ partitions: 3 })
    expect(await client.committedOffset(call, 'billing', 'orders', 0)).toBe(10)
    await client.deleteTopic(call, 'payments')
    // They would speak so with a broker of their own release, where both have more in common.
    const own = highestOf(release)
    const versions = await versionsOf(broker)
    expect(versions.filter(({ api, version }) => version > (own.get(api) ?? -1))).toEqual([])
    expect(versions).toContainEqual({ api: 'Fetch', version: own.get('Fetch') })
    expect(versions).toContainEqual({ api: 'Produce', version: own.get('Produce') })
  })
})
