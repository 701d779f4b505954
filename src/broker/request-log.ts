import { errorName } from '../protocol/errors.ts'
import { CODEC_NAMES } from '../records/compression.ts'

/** One request that was answered: what tests and traces look at. */
export interface RequestLogRecord {
  readonly apiKey: number
  readonly api: string
  readonly version: number
  readonly clientId: string
  readonly connection: number
  /** Names of the errors in the answer, in the order in which they stand there, NONE left out. */
  readonly errorCodes: readonly string[]
  /** Codecs of the batches that a Produce request carried. */
  readonly codecs?: readonly string[]
  /** When it was answered, milliseconds since 1970. */
  readonly at: number
  readonly durationMs: number
}

/** The last requests of a broker, the oldest first. */
export class RequestLog {
  readonly #size: number
  readonly #records: RequestLogRecord[] = []

  constructor(size: number) {
    this.#size = size
  }

  /** False when nobody asked for a log, so that nothing is collected for it. */
  get enabled(): boolean {
    return this.#size > 0
  }

  add(record: RequestLogRecord): void {
    this.#records.push(record)
    if (this.#records.length >= 2 * this.#size) this.#records.splice(0, this.#records.length - this.#size)
  }

  records(): RequestLogRecord[] {
    return this.#records.slice(-this.#size)
  }
}

/** Every error code in a response, by name. */
export function errorCodesOf(value: unknown, found: string[] = []): string[] {
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
export function codecsOf(request: { topicData: { partitionData: { records: Uint8Array | null }[] }[] }): string[] {
  const codecs: string[] = []
  for (const topic of request.topicData) {
    for (const { records } of topic.partitionData) {
      if (records === null || records.length <= ATTRIBUTES_AT) continue
      codecs.push(CODEC_NAMES[records[ATTRIBUTES_AT] & 7] ?? 'unknown')
    }
  }
  return codecs
}
