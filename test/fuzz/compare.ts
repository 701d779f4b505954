import { isContainer, isObject, type Json, type JsonObject, textOf } from '../twin/json.ts'
import { isText } from '../twin/match.ts'
import type { Request, Step } from './sequence.ts'
import type { Answer, Side } from './side.ts'

/**
 * Says where the answers of two sides part. Random ids are told by where they came from; lists compare in any order unless
 * order means something; texts for people do not count.
 */

export interface Difference {
  readonly index: number
  readonly path: string
  readonly kafka: Json | undefined
  readonly ottla: Json | undefined
  /** The two answers whole, as compared. */
  readonly answers: { readonly kafka: Json; readonly ottla: Json }
  /** The same for the same fault: API, path without names, and the two values. */
  readonly signature: string
}

const ORDERED = new Set(['records', 'batches', 'abortedTransactions'])
/** Numbers that are ids, by the names of their fields; elsewhere the same number means something else. */
const ID_NUMBERS = new Set(['producerId', 'sessionId'])
/** What each broker has its own of. */
const OWN = new Set(['port', 'clusterId', 'host', 'logDir', 'totalBytes', 'usableBytes'])
const MEMBER_ID = /^(.*)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** By which field an element of a list is known. */
const KEYS = 'name groupId resourceName topicId memberId partitionIndex partition index key apiKey'.split(' ')
/** By which field an element of a list belongs to a sequence. */
const NAMES = ['name', 'groupId', 'resourceName', 'topicName']

/** The first difference of the answers to `steps`, or undefined. */
export function compareSides(steps: readonly Step[], kafka: Side, ottla: Side): Difference | undefined {
  const ours = kafka.placeholders(steps)
  const theirs = ottla.placeholders(steps)
  for (const [index, step] of steps.entries()) {
    const a = kafka.answers.get(index)
    const b = ottla.answers.get(index)
    if (step.kind !== 'request' || a === undefined || b === undefined) continue
    const wanted = canonical(step, a, kafka, ours)
    const got = canonical(step, b, ottla, theirs)
    const found = firstDifference(wanted, got, '')
    if (found === undefined) continue
    const plain = found.path.replace(/[\w<> ]+-[a-z0-9]{6,}(\/\d+)?/g, '@').replace(/\[\d+\]/g, '[]')
    const signature = `${step.api.name} ${plain}: ${short(found.kafka)} ≠ ${short(found.ottla)}`
    return { index, ...found, answers: { kafka: wanted, ottla: got }, signature }
  }
  return undefined
}

function short(value: Json | undefined): string {
  if (isContainer(value)) return Array.isArray(value) ? `array` : '{…}'
  return textOf(value).replace(/[\w]+-[a-z0-9]{6,}/g, '@')
}

function canonical(step: Request, answer: Answer, side: Side, placeholders: Map<string, string>): Json {
  if (answer.state !== 'answered') return answer.state
  const own = step.all ? leaveOthers(answer.json as JsonObject, side.names.suffix) : (answer.json as JsonObject)
  return normal('', own, placeholders)
}

/** Only what belongs to this sequence. */
function leaveOthers(answer: JsonObject, suffix: string): JsonObject {
  return Object.fromEntries(
    Object.entries(answer)
      .filter(([name]) => !name.includes('/') || name.includes(suffix))
      .map(([name, value]) => [name, Array.isArray(value) ? value.filter(item => isOwn(item, suffix)) : value]),
  )
}

function isOwn(item: Json, suffix: string): boolean {
  if (!isObject(item)) return true
  const name = NAMES.map(field => item[field]).find(value => typeof value === 'string')
  return name === undefined || textOf(name).includes(suffix)
}

function normal(field: string, value: Json, placeholders: Map<string, string>): Json {
  if (OWN.has(field)) return '*'
  if (isText(field)) return '<text>'
  if (typeof value === 'string') return named(value, placeholders)
  if (typeof value === 'number' && ID_NUMBERS.has(field)) return placeholders.get(`${field}#${value}`) ?? value
  if (Array.isArray(value)) {
    const items = value.map(item => normal('', item, placeholders))
    if (ORDERED.has(field)) return items
    return items
      .map(item => [sortKey(item), item] as const)
      .sort(byText)
      .map(([, item]) => item)
  }
  if (!isObject(value)) return value
  const members = Object.entries(value).map(
    ([name, member]) => [named(name, placeholders), normal(name, member, placeholders)] as const,
  )
  return Object.fromEntries(members.sort(byText))
}

/** Elements about the same thing shall meet, even if they differ. */
function sortKey(item: Json): string {
  const name = isObject(item) ? KEYS.map(field => item[field]).find(value => value !== undefined) : ''
  return `${textOf(name)} ${JSON.stringify(item)}`
}

function byText(a: readonly [string, Json], b: readonly [string, Json]): number {
  return a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0
}

function named(text: string, placeholders: Map<string, string>): string {
  const whole = placeholders.get(text)
  if (whole !== undefined) return whole
  // The id of a member whose join was not answered.
  const member = MEMBER_ID.exec(text)
  if (member !== null) return `${member[1]}-<uuid>`
  const slash = text.lastIndexOf('/')
  const topic = slash < 0 ? undefined : placeholders.get(text.slice(0, slash))
  return topic === undefined ? text : topic + text.slice(slash)
}

function firstDifference(
  kafka: Json | undefined,
  ottla: Json | undefined,
  path: string,
): { path: string; kafka: Json | undefined; ottla: Json | undefined } | undefined {
  if (kafka === 'UNKNOWN_SERVER_ERROR' && typeof ottla === 'string' && ottla !== 'NONE') return undefined
  if (isObject(kafka) && isObject(ottla)) {
    // What went wrong says more than what follows from it.
    const fields = new Set(['errorCode', ...Object.keys(kafka), ...Object.keys(ottla)])
    // An accident inside Kafka: whatever the error is called, the rest of this item says nothing.
    if (kafka.errorCode === 'UNKNOWN_SERVER_ERROR' && ottla.errorCode !== 'NONE') return undefined
    for (const field of fields) {
      const found = firstDifference(kafka[field], ottla[field], `${path}.${field}`)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (Array.isArray(kafka) && Array.isArray(ottla) && kafka.length === ottla.length) {
    for (const [index, item] of kafka.entries()) {
      const found = firstDifference(item, ottla[index], `${path}[${index}]`)
      if (found !== undefined) return found
    }
    return undefined
  }
  if (Array.isArray(kafka) && Array.isArray(ottla)) return onlyOneSided(kafka, ottla, path)
  return kafka === ottla ? undefined : { path, kafka, ottla }
}

/** What stands in one list and not in the other. */
function onlyOneSided(kafka: Json[], ottla: Json[], path: string) {
  const texts = (items: Json[]) => new Set(items.map(item => JSON.stringify(item)))
  const [ours, theirs] = [texts(kafka), texts(ottla)]
  return {
    path,
    kafka: kafka.filter(item => !theirs.has(JSON.stringify(item))),
    ottla: ottla.filter(item => !ours.has(JSON.stringify(item))),
  }
}
