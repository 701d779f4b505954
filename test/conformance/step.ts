/** What a step is, what it gets, and the records that the steps send. The steps are in `steps.ts` and `error-steps.ts`. */
import type { Call, Codec, ConformanceClient, ConsumedRecord, Member, OutgoingRecord } from './client.ts'
import type { Reference } from './reference.ts'
import type { Role } from './request-log.ts'

export interface StepContext {
  client: ConformanceClient
  bootstrapServers: string
  reference: Reference
  /** Names that belong to this client and step alone. */
  topic: string
  group: string
  /** A new process of the client: its client id is its own, so that its requests can be told apart. */
  call(role: Role, name: string): Call
  /** How often the broker let this client into a group; undefined when the broker keeps no request log. */
  joins(clientId: string): Promise<number | undefined>
  /** The errors that the broker answered this client with, as `Api ERROR_NAME`; undefined without a request log. */
  errors(clientId: string): Promise<string[] | undefined>
  /** Stops the step's broker and starts an empty one, with these topics, on the same port. Only on a broker of its own. */
  restart(topics: string[]): Promise<void>
}

export interface Step {
  name: string
  /** Errors besides the ordinary ones that the step provokes, as `Api ERROR_NAME`. */
  allowedErrors?: string[]
  /** Requests besides those of `ExpectedRequests.versions` that the step may provoke, as `Api vN`. */
  otherRequests?: string[]
  codec?: Codec
  /** Members come and go, so that one joins more than once; the step counts for itself. */
  rebalances?: boolean
  /** A connection may be lost and made again. */
  reconnects?: boolean
  /** The broker that the step needs instead of the shared one: one that creates no topics by itself, or one of its own. */
  broker?: 'strict' | 'own'
  run(context: StepContext): Promise<void>
}

/** Throws when a member that is to run has ended by itself. */
export function failIfEnded(member: Member): void {
  const failure = member.failure()
  if (failure !== undefined) throw new Error(`${member.clientId} ended by itself: ${failure}`)
}

export function numbered(count: number, prefix = 'value-'): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}${index}`)
}

/** The key that goes with a value wherever the run itself sends. */
export const keyOf = (value: string) => `k-${value.split(' ')[0]}`

export function keyed(values: string[]): OutgoingRecord[] {
  return values.map(value => ({ key: keyOf(value), value }))
}

/** What a client has to report of values that were sent to a partition one after the other. */
export function expectedRecords(partition: number, values: string[], firstOffset: number): ConsumedRecord[] {
  return values.map((value, index) => ({ partition, offset: firstOffset + index, key: keyOf(value), value }))
}
