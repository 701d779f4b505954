import { ERROR_CODES, type ErrorName } from '../../protocol/errors.ts'
import type { Broker } from '../broker.ts'
import type { Handler } from '../handler.ts'
import type { FaultTarget } from './fault-rule.ts'
import { type Fields, PLACES, type Place, topicNameOf } from './request-scope.ts'

/**
 * Answers that carry an error: made for a request that is not acted on, or put into the answer of one that was. An error about a
 * topic stands at that topic alone, as a broker would say it.
 */

/** APIs that only read and tell errors item by item: they are answered in earnest, and the errors put in. */
const READS = [
  'FindCoordinator',
  'OffsetFetch',
  'DescribeGroups',
  'DescribeConfigs',
  'DescribeTopicPartitions',
  'Metadata',
]

/** Whether requests of this API can be refused without being acted on. */
export function canAnswerError({ api }: Handler): boolean {
  return api.name in PLACES || READS.includes(api.name) || 'errorCode' in api.response.spec.fields
}

/** True for a request that can as well be worked on, and whose answer alone says where errors belong. */
export function isAnsweredFirst(api: string, request: Fields): boolean {
  return READS.includes(api) || (api === 'Fetch' && (request.sessionEpoch as number) > 0)
}

/** A request in two: what the error is for, as entries of an answer, and what remains to be worked on. */
export interface Split {
  readonly entries: Fields[]
  /** Undefined when nothing remains. */
  readonly rest: Fields | undefined
}

/** Cuts out of a request what a fault is about. */
export function split(place: Place, request: Fields, fault: FaultTarget, error: ErrorName, broker: Broker): Split {
  const entries: Fields[] = []
  const rest: Fields[] = []
  for (const topic of (request[place.request] ?? []) as Fields[]) {
    if (fault.topic !== undefined && topicNameOf(topic, broker) !== fault.topic) {
      rest.push(topic)
      continue
    }
    const { requestParts, requestIndex } = place
    if (requestParts === undefined || requestIndex === undefined) {
      entries.push(entry(place, topic, error))
      continue
    }
    const parts = topic[requestParts] as Fields[]
    const isMeant = (part: Fields) => fault.partition === undefined || part[requestIndex] === fault.partition
    const meant = parts.filter(isMeant)
    if (meant.length > 0)
      entries.push(
        entry(
          place,
          topic,
          error,
          meant.map(part => part[requestIndex]),
        ),
      )
    if (meant.length < parts.length) rest.push({ ...topic, [requestParts]: parts.filter(part => !isMeant(part)) })
  }
  return { entries, rest: rest.length === 0 ? undefined : { ...request, [place.request]: rest } }
}

/** An entry of an answer: a topic, or a topic with some of its partitions. */
function entry(place: Place, topic: Fields, error: ErrorName, partitions?: readonly unknown[]): Fields {
  const ids = { name: topic.name, topic: topic.topic, topicId: topic.topicId }
  const said = { ...place.blank, errorCode: ERROR_CODES[error] }
  if (partitions === undefined) return { ...ids, ...said }
  const parts = partitions.map(index => ({ ...said, [place.responseIndex as string]: index }))
  return { ...ids, [place.responseParts as string]: parts }
}

/** An answer with more entries; partitions of a topic that is there already stand with the others. */
export function merge(place: Place, answer: Fields, entries: readonly Fields[]): Fields {
  const topics = [...(answer[place.response] as Fields[])]
  for (const entry of entries) {
    const at = topics.findIndex(topic => sameTopic(topic, entry))
    const parts = place.responseParts
    if (at < 0 || parts === undefined) topics.push(entry)
    else topics[at] = { ...topics[at], [parts]: [...(topics[at][parts] as Fields[]), ...(entry[parts] as Fields[])] }
  }
  return { ...answer, [place.response]: topics }
}

function sameTopic(a: Fields, b: Fields): boolean {
  const [nameOfA, nameOfB] = [a.name || a.topic, b.name || b.topic]
  return nameOfA || nameOfB ? nameOfA === nameOfB : a.topicId === b.topicId
}

/**
 * Puts an error into an answer: at the topics that the fault is about, where the answer has such, else everywhere. Undefined when
 * there is no place for it.
 */
export function putError(
  api: string,
  answer: Fields,
  fault: FaultTarget,
  error: ErrorName,
  broker: Broker,
): Fields | undefined {
  const place = PLACES[api]
  if (place === undefined) return everywhere(answer, ERROR_CODES[error]) as Fields
  const { response, responseParts, responseIndex } = place
  let found = false
  const topics = ((answer[response] ?? []) as Fields[]).map(topic => {
    if (fault.topic !== undefined && topicNameOf(topic, broker) !== fault.topic) return topic
    if (responseParts === undefined || responseIndex === undefined) {
      found = true
      return { ...topic, ...place.blank, errorCode: ERROR_CODES[error] }
    }
    const parts = (topic[responseParts] as Fields[]).map(part => {
      if (fault.partition !== undefined && part[responseIndex] !== fault.partition) return part
      found = true
      return { ...place.blank, [responseIndex]: part[responseIndex], errorCode: ERROR_CODES[error] }
    })
    return { ...topic, [responseParts]: parts }
  })
  return found ? { ...answer, [response]: topics } : undefined
}

/** A coordinator that is not told has no address. */
const NOBODY = { nodeId: -1, host: '', port: -1 }

function everywhere(value: unknown, errorCode: number): unknown {
  if (Array.isArray(value)) return value.map(item => everywhere(item, errorCode))
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  const changed: Fields = {}
  for (const [name, member] of Object.entries(value)) changed[name] = everywhere(member, errorCode)
  if ('errorCode' in changed) {
    changed.errorCode = errorCode
    if ('nodeId' in changed) Object.assign(changed, NOBODY)
  }
  return changed
}
