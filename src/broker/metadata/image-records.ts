/**
 * The records that an image adds up from: what a snapshot of the metadata holds, in place of all that were ever decided (KIP-630,
 * Kafka's `ImageWriter`). Applied to an empty image they give the same image.
 */

import type { MetadataImage } from './image.ts'
import type { AppliedRecord } from './records.ts'

/** Topics come before their partitions, and everything in the order in which it came to be. */
export function* imageRecords(image: MetadataImage): Iterable<AppliedRecord> {
  for (const broker of image.brokers.values()) yield { ...broker, type: 'registerBroker' } as AppliedRecord
  for (const { name, topicId, partitions } of image.topicsById.values()) {
    yield { type: 'topic', name, topicId }
    for (const partition of partitions) yield { ...partition, type: 'partition', topicId } as AppliedRecord
  }
  for (const { resourceType, resourceName, values } of image.allConfigs()) {
    for (const [name, value] of values) yield { type: 'config', resourceType, resourceName, name, value }
  }
  for (const { entity, values } of image.quotas.all()) {
    for (const [key, value] of values) yield { type: 'clientQuota', entity: [...entity], key, value, remove: false }
  }
  for (const user of image.scram.users()) {
    for (const credential of image.scram.of(user)) yield { ...credential, type: 'scramCredential' }
  }
  // Who was given them last is told from the log only.
  yield { type: 'producerIds', brokerId: -1, brokerEpoch: -1, nextProducerId: image.nextProducerId }
}
