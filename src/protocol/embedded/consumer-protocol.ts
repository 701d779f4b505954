import { decodeVersioned, encodeVersioned } from '../codec.ts'
import { array, bytes, type Decoded, type Encodable, int32, message, string, struct } from '../dsl.ts'

/**
 * What members of a classic consumer group tell each other through the coordinator, which only carries it: the
 * subscription inside JoinGroup, the assignment inside SyncGroup. The version stands in front as int16.
 * Follows `org.apache.kafka.clients.consumer.internals.ConsumerProtocol`.
 */

const topicPartitions = struct({
  topic: string(),
  partitions: array(int32()),
})

/** Version 1 adds what the member owns (KIP-429), 2 the generation it owns it from (KIP-792), 3 its rack (KIP-881). */
export const consumerProtocolSubscription = message({
  name: 'ConsumerProtocolSubscription',
  versions: [0, 3],
  flexible: undefined,
  body: struct({
    topics: array(string()),
    userData: bytes().nullable().default(null),
    ownedPartitions: array(topicPartitions).since(1).ignorable(),
    generationId: int32().since(2).default(-1).ignorable(),
    rackId: string().since(3).nullable(3).default(null).ignorable(),
  }),
})

/** The same in all versions: the number only follows that of the subscription. */
export const consumerProtocolAssignment = message({
  name: 'ConsumerProtocolAssignment',
  versions: [0, 3],
  flexible: undefined,
  body: struct({
    assignedPartitions: array(topicPartitions),
    userData: bytes().nullable().default(null),
  }),
})

export type Subscription = Decoded<typeof consumerProtocolSubscription.body>
export type Assignment = Decoded<typeof consumerProtocolAssignment.body>

/** The protocol type of groups whose members speak this. */
export const CONSUMER_PROTOCOL_TYPE = 'consumer'

/**
 * Encodes a subscription, in the newest version unless told otherwise. Fields that an older version lacks are dropped.
 *
 * @example
 * const metadata = encodeSubscription({ topics: ['orders'] })
 */
export function encodeSubscription(
  subscription: Encodable<typeof consumerProtocolSubscription.body>,
  version = consumerProtocolSubscription.versions[1],
): Uint8Array {
  return encodeVersioned(consumerProtocolSubscription, version, subscription)
}

/** @throws ByteError when `blob` is no subscription; a version not known yet is read with the newest layout. */
export function decodeSubscription(blob: Uint8Array): Subscription {
  return decodeVersioned(consumerProtocolSubscription, blob)
}

export function encodeAssignment(
  assignment: Encodable<typeof consumerProtocolAssignment.body>,
  version = consumerProtocolAssignment.versions[1],
): Uint8Array {
  return encodeVersioned(consumerProtocolAssignment, version, assignment)
}

/** Nothing at all is an assignment too: it is what a member gets when the leader left it out. @throws ByteError */
export function decodeAssignment(blob: Uint8Array): Assignment {
  if (blob.length === 0) return { assignedPartitions: [], userData: null }
  return decodeVersioned(consumerProtocolAssignment, blob)
}
