import { ZERO_UUID } from '../util/uuid.ts'
import type { PlainFields, PlainValue } from './plain-fields.ts'
import type { RequestLogRecord } from './request-log.ts'

/** Where there are several brokers, each request tells which one answered it. */
type TracedRecord = RequestLogRecord & { readonly broker?: number }

/**
 * Requests as lines for people: when, who, what was asked, what was answered. Fields that say nothing (defaults) are left out, and
 * topics stand with their partitions, as `orders[0,1]`.
 */
export function renderTrace(records: readonly TracedRecord[]): string {
  return records.map(line).join('\n')
}

function line(record: TracedRecord): string {
  const time = timeOfDay(record.at)
  const where = record.broker === undefined ? '' : `broker ${record.broker} `
  const who = `${where}#${record.connection} ${record.clientId || '(no client id)'}`
  const asked = record.request === undefined ? '' : ` ${brief(record.request)}`
  const answer = record.errorCodes.length > 0 ? [...new Set(record.errorCodes)].join(', ') : answerOf(record)
  const fault = record.fault === undefined ? '' : ` [fault: ${record.fault}]`
  const text = `${time} ${who} ${record.api} v${record.version}${asked} → ${answer} (${record.durationMs} ms)${fault}`
  return text.replace(/ {2,}/g, ' ')
}

/** In UTC: `10:15:30.250`. */
function timeOfDay(at: number): string {
  const [hours, minutes, seconds] = [at / 3_600_000, at / 60_000, at / 1000].map(Math.floor)
  const pad = (value: number, length = 2) => String(value).padStart(length, '0')
  return `${pad(hours % 24)}:${pad(minutes % 60)}:${pad(seconds % 60)}.${pad(at % 1000, 3)}`
}

function answerOf({ request, response }: RequestLogRecord): string {
  if (response !== undefined) return brief(response) || 'ok'
  return request === undefined ? 'ok' : 'no answer'
}

const TOPIC_LISTS = ['topics', 'topicData', 'responses', 'results']
const PART_LISTS = ['partitions', 'partitionData', 'partitionResponses', 'partitionIndexes']
const SECRETS = /password|salt|hmac|authBytes/i
/** What fields say that say nothing: among them that authorized operations were not asked for, and the id of no topic. */
const DEFAULTS: readonly PlainValue[] = [null, undefined, '', 0, -1, false, -2_147_483_648, ZERO_UUID]

function brief(fields: PlainFields): string {
  const said: string[] = []
  for (const [name, value] of Object.entries(fields)) {
    if (TOPIC_LISTS.includes(name) && Array.isArray(value)) said.push(value.map(briefTopic).join(' '))
    else if (says(value)) said.push(`${name}=${SECRETS.test(name) ? '…' : briefValue(value)}`)
  }
  return said.filter(text => text !== '').join(' ')
}

/** Whether a value is more than a default. */
function says(value: PlainValue): boolean {
  if (DEFAULTS.includes(value)) return false
  if (Array.isArray(value)) return value.length > 0
  return typeof value !== 'object' || brief(value as PlainFields) !== ''
}

function briefValue(value: PlainValue): string {
  if (Array.isArray(value)) {
    const items = value.every(item => typeof item !== 'object') ? value.join(',') : `${value.length}`
    return `[${items}]`
  }
  return typeof value === 'object' && value !== null ? `{${brief(value as PlainFields)}}` : String(value)
}

function briefTopic(topic: PlainValue): string {
  if (typeof topic !== 'object' || topic === null) return String(topic)
  const fields = topic as PlainFields
  const parts = PART_LISTS.map(name => fields[name]).find(Array.isArray) as readonly PlainValue[] | undefined
  const name = fields.name || fields.topic || fields.topicId || ''
  return parts === undefined || parts.length === 0 ? String(name) : `${name}[${parts.map(briefPart).join(',')}]`
}

/** A partition with the offset and the records that are told of it. */
function briefPart(part: PlainValue): string {
  if (typeof part !== 'object' || part === null) return String(part)
  const { partitionIndex, index, partition, records, ...others } = part as PlainFields
  const offset = [others.fetchOffset, others.committedOffset, others.baseOffset, others.offset].find(
    value => typeof value === 'number' && value >= 0,
  )
  const at = offset === undefined ? '' : `@${offset}`
  const held = typeof records === 'string' && !records.startsWith('<0 ') ? ` ${records.replace(/, .*$/, '>')}` : ''
  return `${partitionIndex ?? index ?? partition}${at}${held}`
}
