import { decodeMessage, encodeVersioned } from '../../protocol/codec.ts'
import {
  array,
  bool,
  bytes,
  type Decoded,
  type Encodable,
  float64,
  int8,
  int16,
  int32,
  int64,
  type Message,
  message,
  string,
  struct,
  uuid,
} from '../../protocol/dsl.ts'
import { assert } from '../../util/assert.ts'
import { ByteReader } from '../../util/byte-reader.ts'
import { ByteWriter } from '../../util/byte-writer.ts'

/**
 * The records of the cluster's metadata: what the controller decides and every broker applies. They are named after those
 * of Kafka's KRaft (`metadata/src/main/resources/common/metadata`) and hold the same facts; the bytes are Ottla's own, since
 * nobody outside reads this log.
 */

/** See `OfflineReplicas`. */
const offlineReplicas = () => array(struct({ topicId: uuid(), partitions: array(int32()) }))

const registerBroker = message({
  name: 'RegisterBrokerRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({
    brokerId: int32(),
    brokerEpoch: int64(),
    host: string(),
    port: int32(),
    rack: string().nullable().default(null),
    fenced: bool(),
    // The same for as long as the process lives: another one under the same id is another broker.
    incarnationId: uuid().tagged(0, 0),
    inControlledShutdown: bool().tagged(1, 0),
    offlineReplicas: offlineReplicas().tagged(2, 0),
  }),
})

const unregisterBroker = message({
  name: 'UnregisterBrokerRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({ brokerId: int32(), brokerEpoch: int64() }),
})

/** A broker is fenced or not, shuts down or not: how it is from now on. And replicas of it that are offline, besides those that were. */
const brokerChange = message({
  name: 'BrokerRegistrationChangeRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({
    brokerId: int32(),
    brokerEpoch: int64(),
    fenced: bool(),
    inControlledShutdown: bool(),
    offlineReplicas: offlineReplicas().tagged(0, 0),
  }),
})

const topic = message({
  name: 'TopicRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({ name: string(), topicId: uuid() }),
})

const partition = message({
  name: 'PartitionRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({
    topicId: uuid(),
    partitionId: int32(),
    replicas: array(int32()),
    isr: array(int32()),
    leader: int32(),
    leaderEpoch: int32(),
    partitionEpoch: int32(),
    addingReplicas: array(int32()).tagged(0, 0),
    removingReplicas: array(int32()).tagged(1, 0),
    // Replicas that may lead though they are not in sync, as the in-sync replicas are fewer than the minimum (KIP-966).
    elr: array(int32()).tagged(2, 0),
    lastKnownElr: array(int32()).tagged(3, 0),
    // 1 after an unclean election, until its leader has said that it knows.
    leaderRecoveryState: int8().tagged(4, 0),
  }),
})

const removeTopic = message({
  name: 'RemoveTopicRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({ topicId: uuid() }),
})

const config = message({
  name: 'ConfigRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({
    resourceType: int16(),
    resourceName: string(),
    name: string(),
    value: string().nullable().default(null),
  }),
})

const producerIds = message({
  name: 'ProducerIdsRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({ brokerId: int32(), brokerEpoch: int64(), nextProducerId: int64() }),
})

const clientQuota = message({
  name: 'ClientQuotaRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({
    entity: array(struct({ type: string(), name: string().nullable().default(null) })),
    key: string(),
    value: float64(),
    remove: bool(),
  }),
})

const scramCredential = message({
  name: 'UserScramCredentialRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({
    name: string(),
    mechanism: int8(),
    salt: bytes(),
    storedKey: bytes(),
    serverKey: bytes(),
    iterations: int32(),
  }),
})

const removeScramCredential = message({
  name: 'RemoveUserScramCredentialRecord',
  versions: [0, 0],
  flexible: 0,
  body: struct({ name: string(), mechanism: int8() }),
})

/** By their number on disk: KRaft's own. */
const TYPES = {
  unregisterBroker: { id: 1, schema: unregisterBroker },
  topic: { id: 2, schema: topic },
  partition: { id: 3, schema: partition },
  config: { id: 4, schema: config },
  removeTopic: { id: 9, schema: removeTopic },
  scramCredential: { id: 11, schema: scramCredential },
  clientQuota: { id: 14, schema: clientQuota },
  producerIds: { id: 15, schema: producerIds },
  removeScramCredential: { id: 16, schema: removeScramCredential },
  brokerChange: { id: 17, schema: brokerChange },
  registerBroker: { id: 27, schema: registerBroker },
} as const

type Types = typeof TYPES
type MetadataRecordType = keyof Types

/** A record as it is decided. */
export type MetadataRecord = {
  [Type in MetadataRecordType]: { readonly type: Type } & Encodable<Types[Type]['schema']['body']>
}[MetadataRecordType]

/** A record as it is applied: every field there. */
export type AppliedRecord = {
  [Type in MetadataRecordType]: { readonly type: Type } & Decoded<Types[Type]['schema']['body']>
}[MetadataRecordType]

const NAMES = new Map<number, MetadataRecordType>(
  Object.entries(TYPES).map(([name, { id }]) => [id, name as MetadataRecordType]),
)

/** Two bytes of type, two of version, the body. */
export function encodeMetadataRecord(record: MetadataRecord): Uint8Array {
  const { id, schema } = TYPES[record.type]
  const writer = new ByteWriter()
  writer.int16(id)
  writer.bytes(encodeVersioned(schema as Message, 0, record))
  return writer.finish()
}

export function decodeMetadataRecord(bytes: Uint8Array): AppliedRecord {
  const reader = new ByteReader(bytes)
  const type = NAMES.get(reader.int16())
  assert(type !== undefined, 'metadata record of an unknown type')
  const version = reader.int16()
  return { type, ...decodeMessage(TYPES[type].schema as Message, version, reader) } as AppliedRecord
}
