/**
 * What the broker's request log has to say after a step: the things that clients swallow.
 *
 * A client that falls back to an older version, retries after an error, reconnects or rejoins once too often still
 * passes a step that only looks at records. Here each of these fails it.
 */
import { expect } from 'vitest'
import { apiByKey } from '../../src/protocol/apis/index.ts'
import type { Codec } from './client.ts'

/** One answered request, as the broker under test reports it. */
export interface RequestRecord {
  apiKey: number
  api: string
  version: number
  clientId: string
  /** A number per accepted connection. */
  connection: number
  /** The names of all error codes in the answer other than NONE. */
  errorCodes: readonly string[]
  /** Produce only: the codec of each batch. */
  codecs?: readonly string[]
}

/** What a process of a client is there for; it decides how many connections it may open. */
export type Role = 'produce' | 'read' | 'member' | 'admin'

export interface ExpectedRequests {
  /** Per API the versions that the client sends to a broker with the ranges of Apache Kafka 4.4. */
  versions: Record<string, number[]>
  /** The most connections that one process opens while nothing goes wrong. */
  connections: Record<Role, number>
}

/** Errors that are part of a protocol's ordinary course, wherever they occur. */
const ORDINARY_ERRORS = [
  // The first JoinGroup of a member (KIP-394).
  'JoinGroup MEMBER_ID_REQUIRED',
  // How members learn that another one came or went.
  'Heartbeat REBALANCE_IN_PROGRESS',
  'OffsetCommit REBALANCE_IN_PROGRESS',
  'SyncGroup REBALANCE_IN_PROGRESS',
]

/** Fails unless every request of one client's step is as expected. */
export function checkRequests(
  log: RequestRecord[],
  client: { name: string; requests: ExpectedRequests },
  calls: { clientId: string; role: Role }[],
  step: {
    allowedErrors?: string[]
    otherRequests?: string[]
    codec?: Codec
    rebalances?: boolean
    reconnects?: boolean
  },
): void {
  for (const { clientId, role } of calls) {
    const requests = log.filter(record => record.clientId === clientId)
    expect(requests.length, `requests of ${clientId}`).toBeGreaterThan(0)
    checkVersions(requests, client, step.otherRequests ?? [])
    checkErrors(requests, [...ORDINARY_ERRORS, ...(step.allowedErrors ?? [])])
    if (!step.reconnects) checkConnections(requests, clientId, client.requests.connections[role])
    if (!step.rebalances) expect(countJoins(requests, clientId), `joins of ${clientId}`).toBeLessThanOrEqual(1)
    if (role === 'produce' && step.codec) checkCodec(requests, step.codec)
  }
}

/** How often a member was let into a group: each of its generations needs one JoinGroup that succeeds. */
export function countJoins(log: RequestRecord[], clientId: string): number {
  return log.filter(
    record => record.clientId === clientId && record.api === 'JoinGroup' && record.errorCodes.length === 0,
  ).length
}

/** The errors that one client was answered with, each once, as `Api ERROR_NAME`. */
export function errorsOf(log: RequestRecord[], clientId: string): string[] {
  return namesOf(log.filter(record => record.clientId === clientId))
}

function namesOf(requests: RequestRecord[]): string[] {
  const names = requests.flatMap(({ api, errorCodes }) => errorCodes.map(code => `${api} ${code}`))
  return [...new Set(names)]
}

function checkVersions(
  requests: RequestRecord[],
  client: { name: string; requests: ExpectedRequests },
  others: string[],
): void {
  const unexpected = requests.filter(({ api, version }) => !client.requests.versions[api]?.includes(version))
  const names = new Set(unexpected.map(({ api, version }) => `${api} v${version}`))
  const left = [...names].filter(name => !others.includes(name))
  expect(left.join(', '), `requests that ${client.name} does not send to Apache Kafka 4.4`).toBe('')
}

function checkErrors(requests: RequestRecord[], allowed: string[]): void {
  const unexpected = namesOf(requests).filter(error => !allowed.includes(error))
  expect(unexpected.join(', '), 'errors that the client swallowed').toBe('')
}

/** A client that was cut off, or that gave up on a connection, opens one more than its role needs. */
function checkConnections(requests: RequestRecord[], clientId: string, most: number): void {
  const connections = new Set(requests.map(record => record.connection))
  expect(connections.size, `connections of ${clientId}`).toBeLessThanOrEqual(most)
}

function checkCodec(requests: RequestRecord[], codec: Codec): void {
  const codecs = new Set(requests.flatMap(record => record.codecs ?? []))
  if (codecs.size > 0) expect([...codecs], 'codecs in the Produce requests').toEqual([codec])
}

// What Kafka's tools ask for beyond the APIs that Ottla has a schema of.
const OTHER_APIS: Record<number, string> = { 46: 'ListPartitionReassignments', 69: 'ConsumerGroupDescribe' }

/** Kafka's name of an API key; the number as text when no step expects it. */
export function apiName(apiKey: number): string {
  return apiByKey(apiKey)?.name ?? OTHER_APIS[apiKey] ?? String(apiKey)
}
