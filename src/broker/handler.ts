import type { Api, Decoded, Encodable, Fields, Struct } from '../protocol/dsl.ts'
import { KafkaError } from '../protocol/errors.ts'
import { Later } from '../util/later.ts'
import type { Broker } from './broker.ts'
import type { ConnectionPeer } from './sink.ts'

/**
 * What a handler is: the schema of its API, the function from request to answer, and in what it differs from Kafka. The files
 * in `apis/` hold one each; `apis/index.ts` lists them all.
 */

/** What a handler knows of the request besides its body. */
export interface RequestContext {
  readonly broker: Broker
  readonly apiVersion: number
  readonly clientId: string | null
  readonly connectionId: number
  readonly peer: ConnectionPeer
  /** Read once for the whole request. */
  readonly now: number
  /** When it came: now, unless a fault held it. */
  readonly received: number
  /** The size of the request, header and all, without the four bytes of its length. */
  readonly requestBytes: number
  /** Set by a handler to tell the client to pause, and to read nothing from it for so long once it is answered. */
  throttleTimeMs: number
  /** What a fault on demand did to the request, for the request log. */
  fault?: string
}

/** Said instead of a response: nothing is sent (Produce with acks=0). */
export const NO_RESPONSE = Symbol('no response')
/** Said instead of a response: the connection ends. */
export const CLOSE_CONNECTION = Symbol('close the connection')

export type Answer<Response> = Response | typeof NO_RESPONSE | typeof CLOSE_CONNECTION
export type Reply<Response> = Answer<Response> | Later<Answer<Response>>

export interface Handler {
  readonly api: Api
  /** The versions that are answered: those of the schema, fewer where an earlier Kafka is emulated. */
  readonly versions: readonly [min: number, max: number]
  /** The lowest version that ApiVersions tells; below the lowest one served only for Produce. */
  readonly advertisedMin: number
  /** False for what is answered though ApiVersions does not tell it (telemetry without a receiver). */
  readonly listed: boolean
  /** How this API differs from Kafka's, a sentence each; rendered into docs/differences.md. */
  readonly differs: readonly string[]
  handle(request: unknown, context: RequestContext): Reply<unknown>
  /** The answer when the handler throws a KafkaError: undefined closes the connection. */
  refuse(request: unknown, error: KafkaError, context: RequestContext): unknown
}

interface HandlerOptions<Request extends Fields, Response extends Fields> {
  advertisedMin?: number
  listed?: boolean
  differs?: readonly string[]
  refuse?(request: Decoded<Struct<Request>>, error: KafkaError, context: RequestContext): Encodable<Struct<Response>>
}

/** Makes a handler; the types of request and answer follow from the schema. */
export function handler<Request extends Fields, Response extends Fields>(
  api: Api<Request, Response>,
  handle: (request: Decoded<Struct<Request>>, context: RequestContext) => Reply<Encodable<Struct<Response>>>,
  options: HandlerOptions<Request, Response> = {},
): Handler {
  return {
    api: api as unknown as Api,
    versions: api.versions,
    advertisedMin: options.advertisedMin ?? api.versions[0],
    listed: options.listed ?? true,
    differs: options.differs ?? [],
    handle: handle as Handler['handle'],
    refuse: (options.refuse as Handler['refuse'] | undefined) ?? (() => undefined),
  }
}

/** Runs `handle`; a KafkaError that it throws becomes what the handler says for it. */
export function answer(chosen: Handler, request: unknown, context: RequestContext): Reply<unknown> {
  try {
    return chosen.handle(request, context)
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    return chosen.refuse(request, error, context) ?? CLOSE_CONNECTION
  }
}

export function isLater<T>(reply: T | Later<T>): reply is Later<T> {
  return reply instanceof Later
}
