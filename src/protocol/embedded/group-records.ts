import { ByteReader } from '../../util/byte-reader.ts'
import { ByteWriter } from '../../util/byte-writer.ts'
import { decodeMessage, decodeVersioned, encodeVersioned, writeStruct } from '../codec.ts'
import {
  array,
  bytes,
  type Decoded,
  type Encodable,
  type Fields,
  int32,
  int64,
  type Message,
  message,
  type Struct,
  string,
  struct,
  uuid,
} from '../dsl.ts'

/**
 * The records of `__consumer_offsets`: committed offsets and classic groups. A key is the record type as int16 and its
 * fields, a value its version as int16 and its fields; no value at all is a tombstone. This knows the bytes, not what
 * they mean. Follows `GroupCoordinatorRecordSerde` and `GroupCoordinatorRecordHelpers`.
 */

export const offsetCommitKey = message({
  name: 'OffsetCommitKey',
  versions: [0, 0],
  flexible: undefined,
  body: struct({
    group: string(),
    topic: string(),
    partition: int32(),
  }),
})

/** Only version 1 has a time to expire at; 3 adds the leader epoch (KIP-320), 4 is flexible and adds the topic id. */
export const offsetCommitValue = message({
  name: 'OffsetCommitValue',
  versions: [0, 4],
  flexible: 4,
  body: struct({
    offset: int64(),
    leaderEpoch: int32().since(3).default(-1).ignorable(),
    metadata: string(),
    commitTimestamp: int64(),
    expireTimestamp: int64().since(1).until(1).default(-1).ignorable(),
    topicId: uuid().tagged(0, 4).ignorable(),
  }),
})

export const groupMetadataKey = message({
  name: 'GroupMetadataKey',
  versions: [0, 0],
  flexible: undefined,
  body: struct({ group: string() }),
})

const memberMetadata = struct({
  memberId: string(),
  groupInstanceId: string().since(3).nullable(3).default(null).ignorable(),
  clientId: string(),
  clientHost: string(),
  rebalanceTimeout: int32().since(1).default(-1).ignorable(),
  sessionTimeout: int32(),
  subscription: bytes(),
  assignment: bytes(),
})

/** Version 1 adds the rebalance timeout, 2 the time of the last change, 3 the instance id (KIP-345), 4 is flexible. */
export const groupMetadataValue = message({
  name: 'GroupMetadataValue',
  versions: [0, 4],
  flexible: 4,
  body: struct({
    protocolType: string(),
    generation: int32(),
    protocol: string().nullable(),
    leader: string().nullable(),
    currentStateTimestamp: int64().since(2).default(-1).ignorable(),
    members: array(memberMetadata),
  }),
})

export type OffsetCommitKey = Decoded<typeof offsetCommitKey.body>
export type OffsetCommitValue = Decoded<typeof offsetCommitValue.body>
export type GroupMetadataKey = Decoded<typeof groupMetadataKey.body>
export type GroupMetadataValue = Decoded<typeof groupMetadataValue.body>

/** A record as it is read; a null value is a tombstone. */
export type GroupRecord =
  | { type: 'offsetCommit'; key: OffsetCommitKey; value: OffsetCommitValue | null }
  | { type: 'groupMetadata'; key: GroupMetadataKey; value: GroupMetadataValue | null }

/** A record of a type that this version does not know. It stays in the log and means nothing here. */
export interface UnknownGroupRecord {
  type: 'unknown'
  recordType: number
}

/** A record to write; fields left out have their default. */
export type EncodableGroupRecord =
  | {
      type: 'offsetCommit'
      key: Encodable<typeof offsetCommitKey.body>
      value: Encodable<typeof offsetCommitValue.body> | null
    }
  | {
      type: 'groupMetadata'
      key: Encodable<typeof groupMetadataKey.body>
      value: Encodable<typeof groupMetadataValue.body> | null
    }

/** Offsets were once written under type 0, with the same key and values that read the same. */
const LEGACY_OFFSET_COMMIT = 0
const OFFSET_COMMIT = 1
const GROUP_METADATA = 2

/**
 * Reads a record of `__consumer_offsets`.
 *
 * @throws ByteError when key or value is cut short.
 */
export function decodeGroupRecord(key: Uint8Array, value: Uint8Array | null): GroupRecord | UnknownGroupRecord {
  const reader = new ByteReader(key)
  const recordType = reader.int16()
  switch (recordType) {
    case LEGACY_OFFSET_COMMIT:
    case OFFSET_COMMIT:
      return {
        type: 'offsetCommit',
        key: decodeMessage(offsetCommitKey, 0, reader),
        value: value && decodeVersioned(offsetCommitValue, value),
      }
    case GROUP_METADATA:
      return {
        type: 'groupMetadata',
        key: decodeMessage(groupMetadataKey, 0, reader),
        value: value && decodeVersioned(groupMetadataValue, value),
      }
    default:
      return { type: 'unknown', recordType }
  }
}

/** Writes a record of `__consumer_offsets`, each value in the version in which Kafka 4.4 writes it. */
export function encodeGroupRecord(record: EncodableGroupRecord): { key: Uint8Array; value: Uint8Array | null } {
  switch (record.type) {
    case 'offsetCommit':
      return {
        key: encodeKey(offsetCommitKey, OFFSET_COMMIT, record.key),
        value: record.value && encodeVersioned(offsetCommitValue, offsetCommitVersion(record.value), record.value),
      }
    case 'groupMetadata':
      return {
        key: encodeKey(groupMetadataKey, GROUP_METADATA, record.key),
        value: record.value && encodeVersioned(groupMetadataValue, 3, record.value),
      }
  }
}

function encodeKey<F extends Fields>(
  definition: Message<F>,
  recordType: number,
  key: Encodable<Struct<F>>,
): Uint8Array {
  const writer = new ByteWriter()
  writer.int16(recordType)
  writeStruct(definition.body, 0, false, writer, key)
  return writer.finish()
}

/** Version 1 where the offset expires at a time of its own, since only that has a place for it; else the newest. */
function offsetCommitVersion(value: Encodable<typeof offsetCommitValue.body>): number {
  return value.expireTimestamp === undefined || value.expireTimestamp === -1 ? 4 : 1
}
