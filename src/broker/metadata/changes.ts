import type { MetadataImage, PartitionImage, TopicImage } from './image.ts'
import type { AppliedRecord } from './records.ts'

/**
 * What a batch of metadata records changed (Kafka's `MetadataDelta`): a broker that was away acts on how things are now, not on everything
 * that happened meanwhile. Records go through it into the image.
 */
export class MetadataChanges {
  readonly #image: MetadataImage
  /** As they were, with the partitions they had. */
  readonly removedTopics: TopicImage[] = []
  readonly configs: (AppliedRecord & { type: 'config' })[] = []
  readonly #partitions = new Map<string, { topicId: string; partitionId: number }>()

  constructor(image: MetadataImage) {
    this.#image = image
  }

  apply(record: AppliedRecord): void {
    const removed = record.type === 'removeTopic' ? this.#image.topicsById.get(record.topicId) : undefined
    if (removed !== undefined) this.removedTopics.push(removed)
    if (record.type === 'config') this.configs.push(record)
    if (record.type === 'partition') {
      const { topicId, partitionId } = record
      this.#partitions.set(`${topicId}-${partitionId}`, { topicId, partitionId })
    }
    this.#image.apply(record)
  }

  /** The partitions that are new or changed, and still there, as they are now. */
  partitions(): { topic: TopicImage; image: PartitionImage }[] {
    const changed: { topic: TopicImage; image: PartitionImage }[] = []
    for (const { topicId, partitionId } of this.#partitions.values()) {
      const topic = this.#image.topicsById.get(topicId)
      if (topic !== undefined) changed.push({ topic, image: topic.partitions[partitionId] })
    }
    return changed
  }
}
