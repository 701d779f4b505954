import { describe, expect, it } from 'vitest'
import { Prng } from '../../util/prng.ts'
import { uuidFromBytes } from '../../util/uuid.ts'
import { catchUpRecords } from './catch-up.ts'
import { MetadataImage } from './image.ts'
import { imageRecords } from './image-records.ts'
import { type AppliedRecord, decodeMetadataRecord, encodeMetadataRecord, type MetadataRecord } from './records.ts'

const prng = new Prng(7)
const below = (bound: number) => Math.floor(prng.next() * bound)
const ids = (most: number) => Array.from({ length: below(most + 1) }, () => below(5))
const topicId = (index: number) => uuidFromBytes(new Uint8Array(16).fill(index + 1))
const bytes = () => Uint8Array.from({ length: below(5) }, () => below(256))
const name = () => ['a', 'a.b', 'x/y', 'é', ''][below(5)]
const coin = () => prng.next() < 0.5

/** One of each type: a type that is added has to be added here, or this does not compile. */
const MAKE: { [Type in MetadataRecord['type']]: () => MetadataRecord & { type: Type } } = {
  registerBroker: () => ({
    type: 'registerBroker',
    brokerId: below(3),
    brokerEpoch: below(2),
    host: name(),
    port: below(65536),
    rack: coin() ? null : name(),
    fenced: coin(),
    incarnationId: topicId(below(3)),
    inControlledShutdown: coin(),
  }),
  unregisterBroker: () => ({ type: 'unregisterBroker', brokerId: below(3), brokerEpoch: below(2) }),
  brokerChange: () => ({
    type: 'brokerChange',
    brokerId: below(3),
    brokerEpoch: below(2),
    fenced: coin(),
    inControlledShutdown: coin(),
    offlineReplicas: coin() ? [] : [{ topicId: topicId(below(4)), partitions: [below(2)] }],
  }),
  topic: () => {
    const index = below(4)
    return { type: 'topic', name: `topic_${index}`, topicId: topicId(index) }
  },
  removeTopic: () => ({ type: 'removeTopic', topicId: topicId(below(4)) }),
  partition: () => ({
    type: 'partition',
    topicId: topicId(below(4)),
    partitionId: 0,
    replicas: ids(3),
    isr: ids(3),
    leader: below(4) - 1,
    leaderEpoch: below(100),
    partitionEpoch: below(100),
    addingReplicas: ids(2),
    removingReplicas: ids(2),
    elr: ids(2),
    lastKnownElr: ids(2),
    leaderRecoveryState: below(2),
  }),
  config: () => ({
    type: 'config',
    resourceType: [2, 4, 16, 32][below(4)],
    resourceName: coin() ? `topic_${below(4)}` : name(),
    name: `config.${below(3)}`,
    value: coin() ? null : name(),
  }),
  clientQuota: () => ({
    type: 'clientQuota',
    entity: [
      { type: 'user', name: coin() ? null : name() },
      { type: 'client-id', name: name() },
    ].slice(below(2)),
    key: `rate-${below(2)}`,
    value: below(1000) / 8,
    remove: coin(),
  }),
  scramCredential: () => ({
    type: 'scramCredential',
    name: name(),
    mechanism: 1 + below(2),
    salt: bytes(),
    storedKey: bytes(),
    serverKey: bytes(),
    iterations: below(9999),
  }),
  removeScramCredential: () => ({ type: 'removeScramCredential', name: name(), mechanism: 1 + below(2) }),
  producerIds: () => ({ type: 'producerIds', brokerId: 1, brokerEpoch: 2, nextProducerId: below(1e6) }),
}

const stored = (record: MetadataRecord): AppliedRecord => decodeMetadataRecord(encodeMetadataRecord(record))

function contentOf(image: MetadataImage) {
  const partitions = [...image.topicsById.values()].map(topic => [
    topic.name,
    topic.topicId,
    topic.partitions.map(({ ...partition }) => ({ ...partition, type: undefined })),
  ])
  return {
    brokers: [...image.brokers].map(([id, broker]) => [id, { ...broker, type: undefined }]),
    partitions,
    names: [...image.topicsByName.keys()],
    collisions: [0, 1, 2, 3].map(index => image.collidingTopic(`topic.${index}`)),
    configs: [...image.allConfigs()].map(({ values, ...resource }) => [resource, [...values]]),
    quotas: image.quotas.all().map(({ entity, values }) => [entity, [...values]]),
    scram: image.scram.users().map(user => [user, image.scram.of(user)]),
    nextProducerId: image.nextProducerId,
  }
}

describe('imageRecords', () => {
  it('add up to the same image, whatever was decided before', () => {
    for (let run = 0; run < 300; run++) {
      const image = new MetadataImage()
      const makers = Object.values(MAKE)
      for (let index = below(60); index > 0; index--) image.apply(stored(makers[below(makers.length)]()))
      const again = new MetadataImage()
      for (const record of imageRecords(image)) again.apply(stored(record))
      expect(contentOf(again)).toEqual(contentOf(image))
    }
  })

  it('are no more than what is there now', () => {
    const image = new MetadataImage()
    image.apply(stored(MAKE.topic()))
    for (let index = 0; index < 1000; index++) {
      image.apply(stored({ ...MAKE.config(), resourceName: 'one', name: 'n', resourceType: 2, value: String(index) }))
    }
    expect([...imageRecords(image)].map(({ type }) => type)).toEqual(['topic', 'config', 'producerIds'])
  })
})

describe('catchUpRecords', () => {
  const makers = Object.values(MAKE)
  const some = (most: number) => Array.from({ length: below(most) }, () => stored(makers[below(makers.length)]()))
  /** Whoever was away has some things in another order. */
  const inAnyOrder = (image: MetadataImage) => ({
    records: [...imageRecords(image)].map(record => JSON.stringify(record)).toSorted(),
    names: [...image.topicsByName.keys()].toSorted(),
    collisions: contentOf(image).collisions,
  })

  it('lead from any earlier image to the one that it became', () => {
    let removals = 0
    for (let run = 0; run < 500; run++) {
      const image = new MetadataImage()
      const behind = new MetadataImage()
      for (const record of some(60)) for (const each of [image, behind]) each.apply(record)
      for (const record of some(60)) image.apply(record)
      for (const record of catchUpRecords(behind, [...imageRecords(image)].map(stored))) {
        if (record.type === 'removeTopic') removals++
        behind.apply(record)
      }
      expect(inAnyOrder(behind)).toEqual(inAnyOrder(image))
    }
    expect(removals).toBeGreaterThan(50)
  })

  it('touch no topic and no partition that stayed as it was', () => {
    const image = new MetadataImage()
    const topic = stored(MAKE.topic()) as AppliedRecord & { type: 'topic' }
    image.apply(topic)
    image.apply({ ...(stored(MAKE.partition()) as AppliedRecord & { type: 'partition' }), topicId: topic.topicId })
    const types = catchUpRecords(image, [...imageRecords(image)].map(stored)).map(({ type }) => type)
    expect(types).toEqual(['producerIds'])
  })
})
