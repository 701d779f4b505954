/**
 * A cluster as a picture: what `cluster.describe()` gives and its metrics are made of. Who leads and is in sync is as the controller has it; each
 * partition has the offsets of its leader, each group is as its coordinator has it. It is put together from what each broker says of itself
 * (src/broker/describe.ts) at about the same moment.
 */
import type { BrokerDescription, GroupDescription, PartitionDescription, TopicDescription } from '../broker/describe.ts'
import { CONSUMER_OFFSETS, isInternalTopic } from '../broker/internal-topics.ts'
import type { PartitionImage } from '../broker/metadata/image.ts'
import type { Hub } from '../cluster/index.ts'
import type { BrokerState } from '../cluster/place.ts'
import { coordinatorPartition } from '../core/java-hash.ts'
import { isOfEndedThread } from './errors.ts'
import type { ClusterBroker } from './running-cluster.ts'

export interface ClusterDescription {
  readonly clusterId: string
  readonly brokers: readonly PlaceDescription[]
  /** With the offsets of their leaders; −1 where nobody leads that runs. */
  readonly topics: readonly TopicDescription[]
  readonly groups: readonly GroupDescription[]
}

/** A broker, and what it has as far as it knows. */
export interface PlaceDescription {
  readonly brokerId: number
  readonly host: string
  readonly port: number
  readonly rack: string | undefined
  readonly state: BrokerState
  /** Undefined unless it runs. */
  readonly description: BrokerDescription | undefined
}

export async function describeCluster(hub: Hub, brokers: readonly ClusterBroker[]): Promise<ClusterDescription> {
  const places = await Promise.all(brokers.map(describePlace))
  const descriptions = new Map(
    places.flatMap(({ description }) => (description ? [[description.brokerId, description]] : [])),
  )
  const topics = describeTopics(hub, descriptions)
  return { clusterId: hub.clusterId, brokers: places, topics, groups: describeGroups(hub, descriptions, topics) }
}

async function describePlace(broker: ClusterBroker): Promise<PlaceDescription> {
  const { id: brokerId, host, port, rack, state } = broker
  const isUp = state === 'running' || state === 'paused'
  // Its thread may end in the midst of it.
  const description = isUp ? await broker.describe().catch(unlessEnded) : undefined
  return { brokerId, host, port, rack, state: broker.state, description }
}

function unlessEnded(error: unknown): undefined {
  if (!isOfEndedThread(error)) throw error
}

type Descriptions = ReadonlyMap<number, BrokerDescription>

function describeTopics(hub: Hub, descriptions: Descriptions): TopicDescription[] {
  const known = new Map(
    [...descriptions].map(([id, { topics }]) => [id, new Map(topics.map(topic => [topic.topicId, topic.partitions]))]),
  )
  return [...hub.image.topicsByName.values()].map(({ name, topicId, partitions }) => ({
    name,
    topicId,
    internal: isInternalTopic(name),
    partitions: partitions.map(image =>
      describePartition(image, known.get(image.leader)?.get(topicId)?.[image.partitionId]),
    ),
  }))
}

const UNKNOWN = { logStartOffset: -1, highWatermark: -1, logEndOffset: -1, sizeInBytes: 0 }

function describePartition(
  { partitionId, leader, leaderEpoch, replicas, isr }: PartitionImage,
  {
    logStartOffset,
    highWatermark,
    logEndOffset,
    sizeInBytes,
  }: Omit<PartitionDescription, 'partition'> | typeof UNKNOWN = UNKNOWN,
): PartitionDescription {
  const log = { logStartOffset, highWatermark, logEndOffset, sizeInBytes }
  return { partition: partitionId, leader, leaderEpoch, replicas, isr, ...log }
}

/** A broker that has not heard yet that it coordinates a group no more still shows it. */
function describeGroups(hub: Hub, descriptions: Descriptions, topics: readonly TopicDescription[]): GroupDescription[] {
  const partitions = hub.image.topicsByName.get(CONSUMER_OFFSETS)?.partitions ?? []
  const watermarks = new Map(
    topics.flatMap(({ name, partitions: all }) => all.map(each => [`${name}-${each.partition}`, each.highWatermark])),
  )
  return [...descriptions.values()].flatMap(({ brokerId, groups }) =>
    groups
      .filter(({ groupId }) => partitions[coordinatorPartition(groupId, partitions.length)]?.leader === brokerId)
      .map(group => ({
        ...group,
        offsets: group.offsets.map(offset => {
          const highWatermark = watermarks.get(`${offset.topic}-${offset.partition}`) ?? -1
          return { ...offset, lag: highWatermark < 0 ? -1 : Math.max(0, highWatermark - offset.committed) }
        }),
      })),
  )
}
