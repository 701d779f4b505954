import type { Broker } from '../broker.ts'
import type { FaultTarget } from './fault-rule.ts'

/**
 * What a request is about: its topics with their partitions, its groups. Read from the decoded body by the names that fields have
 * in Kafka's schemas, so that an API needs no entry here unless it is answered topic by topic.
 */

/** A decoded message, of whatever API. */
export type Fields = Record<string, unknown>

/** Where a request lists topics and their partitions, and where its answer does. */
export interface Place {
  readonly request: string
  readonly requestParts?: string
  readonly requestIndex?: string
  readonly response: string
  readonly responseParts?: string
  readonly responseIndex?: string
  /** What an entry of the answer says besides its error. */
  readonly blank: Fields
}

const SAME_NAMES = {
  request: 'topics',
  requestParts: 'partitions',
  requestIndex: 'partitionIndex',
  response: 'topics',
  responseParts: 'partitions',
  responseIndex: 'partitionIndex',
}

export const PLACES: Readonly<Record<string, Place>> = {
  Produce: {
    request: 'topicData',
    requestParts: 'partitionData',
    requestIndex: 'index',
    response: 'responses',
    responseParts: 'partitionResponses',
    responseIndex: 'index',
    blank: { baseOffset: -1, logAppendTimeMs: -1, logStartOffset: -1 },
  },
  Fetch: {
    ...SAME_NAMES,
    requestIndex: 'partition',
    response: 'responses',
    blank: { highWatermark: -1, lastStableOffset: -1, logStartOffset: -1, abortedTransactions: null },
  },
  ListOffsets: { ...SAME_NAMES, blank: { timestamp: -1, offset: -1, leaderEpoch: -1 } },
  OffsetCommit: { ...SAME_NAMES, blank: {} },
  DeleteRecords: { ...SAME_NAMES, blank: { lowWatermark: -1 } },
  OffsetForLeaderEpoch: {
    ...SAME_NAMES,
    requestIndex: 'partition',
    responseIndex: 'partition',
    blank: { leaderEpoch: -1, endOffset: -1 },
  },
  Metadata: { request: 'topics', response: 'topics', blank: { partitions: [] } },
  CreateTopics: {
    request: 'topics',
    response: 'topics',
    blank: { numPartitions: -1, replicationFactor: -1, configs: [] },
  },
  CreatePartitions: { request: 'topics', response: 'results', blank: {} },
}

interface TopicScope {
  readonly name: string
  /** Empty when the request names no partitions. */
  readonly partitions: readonly number[]
}

export interface RequestScope {
  readonly topics: readonly TopicScope[]
  readonly groups: readonly string[]
}

export function scopeOf(api: string, request: Fields, broker: Broker): RequestScope {
  return { topics: topicsOf(api, request, broker), groups: groupsOf(request) }
}

/** The name of a topic in a request or an answer, which may give its id instead. */
export function topicNameOf(topic: Fields, broker: Broker): string {
  const named = (topic.name || topic.topic) as string | undefined
  return named || broker.image.topicsById.get(topic.topicId as string)?.name || ''
}

function topicsOf(api: string, request: Fields, broker: Broker): TopicScope[] {
  const place = PLACES[api] ?? SAME_NAMES
  const lists = [request[place.request], ...listOf(request.groups).map(group => (group as Fields | null)?.topics)]
  const topics = lists.flatMap(listOf).map(topic => topicScope(topic, place, broker))
  if (api === 'Fetch') topics.push(...sessionScope(request, broker))
  return topics
}

function topicScope(topic: unknown, place: Omit<Place, 'blank' | 'response'>, broker: Broker): TopicScope {
  if (typeof topic === 'string') return { name: topic, partitions: [] }
  const fields = topic as Fields
  const parts = listOf(place.requestParts === undefined ? undefined : fields[place.requestParts])
  const partitions = parts.map(part =>
    typeof part === 'number' ? part : (part as Fields)[place.requestIndex as string],
  )
  return { name: topicNameOf(fields, broker), partitions: partitions as number[] }
}

/** What an incremental fetch is about is known to its session only. */
function sessionScope({ sessionId, sessionEpoch }: Fields, broker: Broker): TopicScope[] {
  const session = (sessionEpoch as number) > 0 ? broker.fetchSessions.find(sessionId as number) : undefined
  return [...(session?.targets.values() ?? [])].map(({ resolvedTopic, partition }) => ({
    name: resolvedTopic ?? '',
    partitions: [partition],
  }))
}

function groupsOf(request: Fields): string[] {
  const groups = [...listOf(request.groups), ...listOf(request.groupsNames), ...listOf(request.groupIds)]
  if (typeof request.groupId === 'string') groups.push(request.groupId)
  if (request.keyType === 0) groups.push(request.key, ...listOf(request.coordinatorKeys))
  return groups.map(group => (typeof group === 'string' ? group : ((group as Fields | null)?.groupId as string)))
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

export function isAbout(scope: RequestScope, { topic, partition, group }: FaultTarget): boolean {
  if (group !== undefined && !scope.groups.includes(group)) return false
  if (topic === undefined && partition === undefined) return true
  return scope.topics.some(
    each =>
      (topic === undefined || each.name === topic) && (partition === undefined || each.partitions.includes(partition)),
  )
}
