/**
 * How a broker that was away for long comes from the image it has to one that it missed the records of: what is gone is removed, and what is new
 * or different applied. As Kafka's `MetadataDelta`, which finishes a snapshot by removing what did not stand in it.
 */
import { MetadataImage, RESOURCE_TYPE } from './image.ts'
import type { AppliedRecord } from './records.ts'

/** The records that make `image` what `snapshot`, the records of an image, adds up to. Removals come first. */
export function catchUpRecords(image: MetadataImage, snapshot: readonly AppliedRecord[]): AppliedRecord[] {
  const target = new MetadataImage()
  for (const record of snapshot) target.apply(record)
  const removed = [...removals(image, target)]
  const gone = new Set(removed.map(record => (record.type === 'removeTopic' ? record.topicId : undefined)))
  const isKnown = (record: AppliedRecord) => 'topicId' in record && !gone.has(record.topicId) && stands(image, record)
  return [...removed, ...snapshot.filter(record => !isKnown(record))]
}

function* removals(image: MetadataImage, target: MetadataImage): Iterable<AppliedRecord> {
  for (const { brokerId, brokerEpoch } of image.brokers.values()) {
    if (!target.brokers.has(brokerId)) yield { type: 'unregisterBroker', brokerId, brokerEpoch }
  }
  for (const { topicId, partitions } of image.topicsById.values()) {
    if (!keeps(target, topicId, partitions.length)) yield { type: 'removeTopic', topicId }
  }
  for (const { resourceType, resourceName, values } of image.allConfigs()) {
    // Those of a topic went with it.
    const topic = resourceType === RESOURCE_TYPE.topic ? image.topicsByName.get(resourceName) : undefined
    if (topic !== undefined && !keeps(target, topic.topicId, topic.partitions.length)) continue
    const wanted = target.configsOf(resourceType, resourceName)
    for (const name of values.keys()) {
      if (!wanted.has(name)) yield { type: 'config', resourceType, resourceName, name, value: null }
    }
  }
  for (const { entity, values } of image.quotas.all()) {
    for (const key of values.keys()) {
      if (target.quotas.limit(entity, key) === undefined)
        yield { type: 'clientQuota', entity: [...entity], key, value: 0, remove: true }
    }
  }
  for (const name of image.scram.users()) {
    const wanted = target.scram.of(name)
    for (const { mechanism } of image.scram.of(name)) {
      if (!wanted.some(each => each.mechanism === mechanism)) yield { type: 'removeScramCredential', name, mechanism }
    }
  }
}

/** Whether the topic is there still, with all partitions that it had. */
function keeps({ topicsById }: MetadataImage, topicId: string, partitions: number): boolean {
  const topic = topicsById.get(topicId)
  return topic !== undefined && topic.partitions.length >= partitions
}

/** Whether a topic is there, or a partition is just so: then nobody need act on it. */
function stands({ topicsById }: MetadataImage, record: AppliedRecord): boolean {
  if (record.type === 'topic') return topicsById.has(record.topicId)
  if (record.type !== 'partition') return false
  const known = topicsById.get(record.topicId)?.partitions[record.partitionId]
  return known !== undefined && JSON.stringify(sorted(known)) === JSON.stringify(sorted(record))
}

function sorted(fields: object): [string, unknown][] {
  return Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))
}
