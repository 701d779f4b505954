import { decodeMessage } from '../../../protocol/codec.ts'
import { CONSUMER_PROTOCOL_TYPE, consumerProtocolSubscription } from '../../../protocol/embedded/consumer-protocol.ts'
import { ByteError, ByteReader } from '../../../util/byte-reader.ts'
import type { ClassicGroup } from './classic-group.ts'

/**
 * Reads which topics the members of a consumer group are subscribed to, from the metadata that is opaque otherwise.
 * Offsets of such topics neither expire nor may be deleted. Follows `ClassicGroup.computeSubscribedTopics`.
 */
export function subscribedTopicsOf(group: ClassicGroup): ReadonlySet<string> | undefined {
  if (group.protocolType !== CONSUMER_PROTOCOL_TYPE) return undefined
  const topics = new Set<string>()
  if (group.members.size === 0) return topics
  if (group.protocolName === undefined) return undefined
  try {
    for (const member of group.members.values()) {
      for (const topic of topicsIn(member.metadata(group.protocolName))) topics.add(topic)
    }
  } catch (error) {
    // Whoever does not speak the consumer protocol is simply not understood.
    if (error instanceof ByteError) return undefined
    throw error
  }
  return topics
}

/** Every version begins with the fields of version 0, so that is all that is read, whatever is said to follow. */
function topicsIn(metadata: Uint8Array): string[] {
  const reader = new ByteReader(metadata)
  if (reader.int16() < 0) throw new ByteError('a subscription of a negative version')
  return decodeMessage(consumerProtocolSubscription, 0, reader).topics
}
