import { fetch } from '../../protocol/apis/fetch.ts'
import type { Decoded, Encodable } from '../../protocol/dsl.ts'
import { encodeResponse } from '../../protocol/frame.ts'
import { totalLength } from '../../util/byte-writer.ts'
import { ZERO_UUID } from '../../util/uuid.ts'
import type { Broker } from '../broker.ts'
import { type FetchResult, readAgain, readTargets, waitForBytes } from '../fetch-read.ts'
import { type CachedTarget, type FetchSession, type FetchTarget, targetKey } from '../fetch-sessions.ts'
import { handler, type RequestContext } from '../handler.ts'
import { NO_LEADER_EPOCH } from '../partition.ts'
import type { ClientQuota } from '../quotas/client-quotas.ts'
import { chargeFetch, quotaOf } from '../quotas/throttle.ts'
import { leaderHint } from './leader-hint.ts'

/**
 * Reads batches from partitions, waiting for enough of them when asked to (`KafkaApis.handleFetchRequest`). This file is about
 * what the request asks for and what the answer tells: sessions (KIP-227), topic ids; `fetch-read.ts` reads.
 */

type Request = Decoded<typeof fetch.request>
type Response = Encodable<typeof fetch.response>

const FINAL_EPOCH = -1
const RACK_SINCE = 11

export const fetchHandler = handler(
  fetch,
  (request, context) => {
    const plan = planOf(request, context)
    const { broker } = context
    const quota = quotaOf('consumer_byte_rate', context)
    const options = {
      maxBytes: Math.min(request.maxBytes, broker.config.number('fetch.max.bytes'), quota?.windowBytes ?? Infinity),
      readCommitted: request.isolationLevel === 1,
      // Consumers may read from followers since they can say where they are (KIP-392).
      fromFollowers: context.apiVersion >= RACK_SINCE,
      rack: request.rackId,
    }
    const results = readTargets(broker, plan.targets, options)
    const wait = waitForBytes(context, results, {
      ...options,
      minBytes: Math.min(request.minBytes, options.maxBytes),
      maxWaitMs: request.maxWaitMs,
    })
    if (wait === undefined) return withinQuota(quota, plan, results, context)
    return wait.map(() => withinQuota(quota, plan, readAgain(broker, results, options), context))
  },
  {
    differs: ['Followers do not fetch over the listener of clients; a replica id is read and ignored.'],
    refuse: (_request, error) => ({ errorCode: error.code }),
  },
)

/** What to read, and which session the answer belongs to. */
interface Plan {
  targets: Iterable<FetchTarget>
  /** Set when the answer lists only what changed. */
  incremental: FetchSession | undefined
  /** True when the answer may open a session. */
  mayOpen: boolean
}

function planOf(request: Request, { broker, apiVersion }: RequestContext): Plan {
  const { sessionId, sessionEpoch } = request
  const targets = targetsOf(request)
  if (sessionEpoch === 0 || sessionEpoch === FINAL_EPOCH) {
    if (sessionId !== 0) broker.fetchSessions.close(sessionId)
    return { targets, incremental: undefined, mayOpen: sessionEpoch === 0 }
  }
  const session = broker.fetchSessions.continue(sessionId, sessionEpoch, apiVersion >= 13)
  session.update(targets, id => broker.image.topicsById.get(id)?.name)
  for (const { topic, topicId, partitions } of request.forgottenTopicsData) {
    for (const partition of partitions) session.forget({ topic, topicId, partition })
  }
  if (session.targets.size === 0) {
    broker.fetchSessions.close(session.id)
    return { targets, incremental: undefined, mayOpen: false }
  }
  return { targets: [...session.targets.values()], incremental: session, mayOpen: false }
}

function targetsOf(request: Request): FetchTarget[] {
  const targets: FetchTarget[] = []
  for (const { topic, topicId, partitions } of request.topics) {
    for (const asked of partitions) {
      targets.push({
        topic,
        topicId,
        partition: asked.partition,
        // Here every negative epoch means none; elsewhere only -1 does.
        currentLeaderEpoch: Math.max(NO_LEADER_EPOCH, asked.currentLeaderEpoch),
        fetchOffset: asked.fetchOffset,
        lastFetchedEpoch: asked.lastFetchedEpoch,
        maxBytes: asked.partitionMaxBytes,
      })
    }
  }
  return targets.length < 2 ? targets : withoutRepeats(targets)
}

/** Of a partition that is asked for twice, the last is meant. */
function withoutRepeats(targets: FetchTarget[]): FetchTarget[] {
  const byKey = new Map(targets.map(target => [targetKey(target), target]))
  return byKey.size === targets.length ? targets : [...byKey.values()]
}

/** A client that has read too much is told nothing but to wait: its session stays as it was. */
function withinQuota(
  quota: ClientQuota | undefined,
  plan: Plan,
  results: FetchResult[],
  context: RequestContext,
): Response {
  if (quota !== undefined) {
    const { apiVersion, broker } = context
    // What goes over the wire is the measure: all of it, and four bytes in front.
    const whole = encodeResponse(fetch, apiVersion, 0, byTopic(results, apiVersion, broker))
    const headerBytes = apiVersion >= 12 ? 5 : 4
    if (chargeFetch(quota, totalLength(whole) - headerBytes, context)) return { sessionId: plan.incremental?.id ?? 0 }
  }
  return respond(plan, results, context)
}

function respond(plan: Plan, results: FetchResult[], context: RequestContext): Response {
  const { broker, apiVersion } = context
  if (plan.incremental !== undefined) {
    const session = plan.incremental
    const told = results.filter(result => changed(session, result))
    return { sessionId: session.id, ...byTopic(told, apiVersion, broker) }
  }
  const session = plan.mayOpen ? openSession(broker, results, apiVersion) : undefined
  return { sessionId: session?.id ?? 0, ...byTopic(results, apiVersion, broker) }
}

function openSession(broker: Broker, results: FetchResult[], apiVersion: number): FetchSession | undefined {
  const session = broker.fetchSessions.open(apiVersion >= 13, results.length)
  session?.update(
    results.map(({ target }) => target),
    id => broker.image.topicsById.get(id)?.name,
  )
  if (session !== undefined) {
    const targets = [...session.targets.values()]
    for (const [index, { data }] of results.entries()) remember(targets[index], data)
  }
  return session
}

/** True when the client does not know this yet; what it is told now is remembered. */
function changed(session: FetchSession, { target, data, bytes }: FetchResult): boolean {
  const cached = target as CachedTarget
  const news =
    bytes > 0 ||
    data.errorCode !== 0 ||
    data.divergingEpoch !== undefined ||
    data.preferredReadReplica !== undefined ||
    cached.highWatermark !== data.highWatermark ||
    cached.logStartOffset !== data.logStartOffset
  if (!news) return false
  remember(cached, data)
  if (bytes > 0) session.moveToEnd(cached)
  return true
}

/** After an error the partition is told again as soon as it recovers, whatever its watermark. */
function remember(cached: CachedTarget | undefined, data: FetchResult['data']): void {
  if (cached === undefined) return
  cached.highWatermark = data.errorCode === 0 ? (data.highWatermark as number) : -1
  cached.logStartOffset = data.logStartOffset as number
}

/** The layout of the wire, and who leads where the client asked the wrong broker (KIP-951). */
function byTopic(
  results: FetchResult[],
  apiVersion: number,
  broker: Broker,
): Pick<Response, 'responses' | 'nodeEndpoints'> {
  const responses: { topic: string; topicId: string; partitions: FetchResult['data'][] }[] = []
  for (const { target, data, topic: name, bytes } of results) {
    if (bytes > 0) broker.counters.fetched(name as string, bytes)
    const { topic, topicId } = target
    const last = responses.at(-1)
    // The order of the partitions counts: only neighbours of one topic are told together.
    if (last !== undefined && last.topic === topic && last.topicId === topicId) last.partitions.push(data)
    else responses.push({ topic, topicId, partitions: [data] })
  }
  if (apiVersion < 16) return { responses }
  const hint = leaderHint(broker)
  for (const { target, data } of results) {
    const topicId = target.topicId === ZERO_UUID ? undefined : target.topicId
    const leader = hint.of(data.errorCode as number, topicId, target.partition)
    if (leader !== undefined) (data as { currentLeader?: unknown }).currentLeader = leader
  }
  return { responses, nodeEndpoints: hint.endpoints() }
}
