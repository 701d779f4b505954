import type { Api } from '../protocol/dsl.ts'
import { errorName } from '../protocol/errors.ts'
import { CODEC_NAMES } from '../records/compression.ts'
import { type Fields, scopeOf } from './faults/request-scope.ts'
import type { RequestContext } from './handler.ts'
import { type PlainFields, plainFields } from './plain-fields.ts'

/** One request that was answered, or never will be: what tests and traces look at. */
export interface RequestLogRecord {
  readonly apiKey: number
  readonly api: string
  readonly version: number
  readonly clientId: string
  readonly connection: number
  /** Names of the errors in the answer, in the order in which they stand there, NONE left out; a thousand at the most. */
  readonly errorCodes: readonly string[]
  /** Codecs of the batches that a Produce request carried. */
  readonly codecs?: readonly string[]
  /** When it was answered, milliseconds since 1970. */
  readonly at: number
  readonly durationMs: number
  /** What a fault on demand did to it. */
  readonly fault?: string
  /** The topics and groups that it was about; only where fields are kept. */
  readonly topics?: readonly string[]
  readonly groups?: readonly string[]
  /** The request as it was decoded, with bytes told by their number; only where fields are kept. */
  readonly request?: PlainFields
  /** The answer in the same way; undefined when there was none. */
  readonly response?: PlainFields
}

/** Which requests to tell of; what is left out takes all. */
export interface RequestFilter {
  readonly api?: string | readonly string[]
  readonly clientId?: string
  readonly topic?: string
  readonly group?: string
  /** True for those with an error in the answer, or that met a fault. */
  readonly failed?: boolean
  /** The last so many of those that are left. */
  readonly last?: number
}

/** What is noted of a request before it is worked on. */
interface Seen {
  readonly api: Api
  readonly context: RequestContext
  readonly codecs: readonly string[] | undefined
  readonly fields: Pick<RequestLogRecord, 'topics' | 'groups' | 'request'> | undefined
}

/** The last requests of a broker, the oldest first. */
export class RequestLog {
  readonly #size: number
  readonly #keepsFields: boolean
  readonly #records: RequestLogRecord[] = []

  /** @param keepsFields keeps what requests and answers say, too; it takes time and room */
  constructor(size: number, keepsFields = false) {
    this.#size = size
    this.#keepsFields = keepsFields
  }

  /** Notes a request before it is worked on; undefined when nobody asked for a log, so that nothing is collected for it. */
  look(api: Api, request: unknown, context: RequestContext): Seen | undefined {
    if (this.#size === 0) return undefined
    const fields = this.#keepsFields ? fieldsOf(api.name, request as Fields, context) : undefined
    return { api, context, codecs: api.key === 0 ? codecsOf(request as never) : undefined, fields }
  }

  /** The request was answered at `now`, or, without a response, it never will be. */
  answered({ api, context, codecs, fields }: Seen, response: unknown, now: number): void {
    this.#add({
      apiKey: api.key,
      api: api.name,
      version: context.apiVersion,
      clientId: context.clientId ?? '',
      connection: context.connectionId,
      errorCodes: errorCodesOf(response),
      ...(codecs && { codecs }),
      at: now,
      durationMs: now - context.received,
      ...(context.fault !== undefined && { fault: context.fault }),
      ...(fields && { ...fields, ...(isMessage(response) && { response: plainFields(response) }) }),
    })
  }

  #add(record: RequestLogRecord): void {
    this.#records.push(record)
    if (this.#records.length >= 2 * this.#size) this.#records.splice(0, this.#records.length - this.#size)
  }

  records(filter: RequestFilter = {}): RequestLogRecord[] {
    const apis = typeof filter.api === 'string' ? [filter.api] : filter.api
    const { clientId, topic, group, failed, last } = filter
    const records = this.#records
      .slice(-this.#size)
      .filter(
        record =>
          (apis === undefined || apis.includes(record.api)) &&
          (clientId === undefined || record.clientId === clientId) &&
          (topic === undefined || record.topics?.includes(topic)) &&
          (group === undefined || record.groups?.includes(group)) &&
          (failed === undefined || failed === (record.errorCodes.length > 0 || record.fault !== undefined)),
      )
    return last === undefined ? records : records.slice(Math.max(0, records.length - last))
  }
}

function isMessage(response: unknown): response is object {
  return typeof response === 'object' && response !== null
}

function fieldsOf(api: string, request: Fields, { broker }: RequestContext) {
  const { topics, groups } = scopeOf(api, request, broker)
  return { topics: [...new Set(topics.map(({ name }) => name))], groups, request: plainFields(request) }
}

/** Of so many errors in one answer nobody reads more, and ten thousand answers are kept. */
const MOST_ERRORS = 1000

/** The error codes in a response, by name. */
function errorCodesOf(value: unknown, found: string[] = []): string[] {
  if (found.length >= MOST_ERRORS) return found
  if (Array.isArray(value)) {
    for (const item of value) errorCodesOf(item, found)
  } else if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    for (const [name, member] of Object.entries(value)) {
      if (name === 'errorCode') {
        if (member !== 0) found.push(errorName(member as number))
      } else if (name !== 'records') errorCodesOf(member, found)
    }
  }
  return found
}

/** Where a batch keeps the number of its codec. */
const ATTRIBUTES_AT = 22

/** The codecs of the batches in a Produce request. */
function codecsOf(request: { topicData: { partitionData: { records: Uint8Array | null }[] }[] }): string[] {
  const codecs: string[] = []
  for (const topic of request.topicData) {
    for (const { records } of topic.partitionData) {
      if (records === null || records.length <= ATTRIBUTES_AT) continue
      codecs.push(CODEC_NAMES[records[ATTRIBUTES_AT] & 7] ?? 'unknown')
    }
  }
  return codecs
}
