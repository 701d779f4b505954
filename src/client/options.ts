/** What a client may be told, and what it does when it is not told. Names and defaults are those of Kafka's client configs. */

import type { RecordsPlatform } from '../records/compression.ts'
import type { Env } from '../util/env.ts'
import type { Address } from './pool.ts'
import type { Transport } from './transport.ts'
import type { MaxVersions } from './versions.ts'

export interface KafkaClientOptions {
  /** Time, timers, chance and the turns in which everything settles. */
  readonly env: Env
  readonly transport: Transport
  /** Where to ask first; the other brokers are learned. At least one. */
  readonly bootstrap: readonly Address[]
  /** Checksum and compression for record batches. */
  readonly platform: RecordsPlatform
  /** Shown in the broker's logs and in member ids. Default `ottla`. */
  readonly clientId?: string
  /** How long one request may take before its connection is given up. Default 30000. */
  readonly requestTimeoutMs?: number
  /** How long a call goes on trying. Default 60000. */
  readonly apiTimeoutMs?: number
  /** The first pause before trying again; it doubles up to `retryBackoffMaxMs`. Default 100. */
  readonly retryBackoffMs?: number
  /** Default 1000. */
  readonly retryBackoffMaxMs?: number
  /** Metadata older than this is asked for again when next used. Default 300000. */
  readonly metadataMaxAgeMs?: number
  /** Whether asking for a topic may create it, where the broker allows it. Default true. */
  readonly allowAutoTopicCreation?: boolean
  /** Requests per connection that wait for their response at a time. Default 5. */
  readonly maxInFlight?: number
  /** A longer response ends the connection. Default 100 MiB. */
  readonly maxFrameBytes?: number
  /** Versions not to exceed, by API name: `{ Fetch: 12 }`. */
  readonly maxVersions?: MaxVersions
}

export const DEFAULTS = {
  clientId: 'ottla',
  requestTimeoutMs: 30_000,
  apiTimeoutMs: 60_000,
  retryBackoffMs: 100,
  retryBackoffMaxMs: 1_000,
  metadataMaxAgeMs: 300_000,
  allowAutoTopicCreation: true,
  maxInFlight: 5,
  maxFrameBytes: 100 * 1024 * 1024,
  maxVersions: {} as MaxVersions,
}

export type ResolvedOptions = Required<KafkaClientOptions>

/** Fills in defaults; an option that is there but undefined counts as left out. */
export function withDefaults<D extends object, O extends object>(defaults: D, given: O): D & O {
  const result = { ...defaults } as Record<string, unknown>
  for (const [name, value] of Object.entries(given)) if (value !== undefined) result[name] = value
  return result as D & O
}
