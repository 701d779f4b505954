import { utf8Encode } from '../../util/utf8.ts'
import type { Broker } from '../broker.ts'

/**
 * Client metrics (KIP-714). Without a receiver nothing is asked for, and what is pushed is dropped; as in Kafka the two APIs are
 * then answered and not listed.
 */

/** Kafka's order of preference: zstd, lz4, gzip, snappy. */
export const ACCEPTED_COMPRESSION = [4, 3, 1, 2]
export const PUSH_INTERVAL_MS = 300_000

/** The number under which a client pushes; it follows from its id, so that nothing has to be remembered. */
export function subscriptionIdOf(broker: Broker, clientInstanceId: string): number {
  const bytes = utf8Encode(clientInstanceId)
  return broker.platform.crc32c(bytes, 0, bytes.length) >> 1
}

export function telemetryMaxBytes(broker: Broker): number {
  return broker.config.number('telemetry.max.bytes')
}
