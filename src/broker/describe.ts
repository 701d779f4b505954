import type { GroupMachine } from '../coordinator/group/group-machine.ts'
import type { Log } from '../log/log.ts'
import type { Broker } from './broker.ts'
import { isInternalTopic } from './internal-topics.ts'

/**
 * A broker as a picture: what `broker.describe()` gives and the metrics are made of. Plain data, so that it can cross to another
 * thread. It reads state and asks nobody, so it shows this moment.
 */

export interface BrokerDescription {
  readonly brokerId: number
  readonly clusterId: string
  readonly connections: number
  /** Requests that wait for something (fetches for bytes, produces for replicas). */
  readonly waitingRequests: number
  readonly fetchSessions: number
  readonly storage: { readonly path: string; readonly totalBytes: number; readonly usableBytes: number }
  readonly topics: readonly TopicDescription[]
  readonly groups: readonly GroupDescription[]
}

export interface TopicDescription {
  readonly name: string
  readonly topicId: string
  readonly internal: boolean
  readonly partitions: readonly PartitionDescription[]
}

export interface PartitionDescription {
  readonly partition: number
  /** −1 when there is none. */
  readonly leader: number
  readonly leaderEpoch: number
  readonly replicas: readonly number[]
  readonly isr: readonly number[]
  readonly logStartOffset: number
  readonly highWatermark: number
  readonly logEndOffset: number
  readonly sizeInBytes: number
}

export interface GroupDescription {
  readonly groupId: string
  /** `Empty`, `PreparingRebalance`, `CompletingRebalance`, `Stable` or `Dead`. */
  readonly state: string
  readonly protocolType: string
  readonly protocolName: string
  readonly generationId: number
  readonly members: readonly { readonly memberId: string; readonly clientId: string; readonly clientHost: string }[]
  readonly offsets: readonly GroupOffset[]
}

export interface GroupOffset {
  readonly topic: string
  readonly partition: number
  readonly committed: number
  /** High watermark minus committed, never below 0; −1 when the partition is not led here. */
  readonly lag: number
}

export function describeBroker(broker: Broker): BrokerDescription {
  return {
    brokerId: broker.id,
    clusterId: broker.clusterId,
    connections: broker.connectionCount,
    waitingRequests: broker.purgatory.size,
    fetchSessions: broker.fetchSessions.size,
    storage: broker.replicas.storageUsage(),
    topics: describeTopics(broker),
    groups: broker.groups.machines().flatMap(machine => describeGroups(machine, broker)),
  }
}

function describeTopics(broker: Broker): TopicDescription[] {
  return [...broker.image.topicsByName.values()].map(({ name, topicId, partitions }) => ({
    name,
    topicId,
    internal: isInternalTopic(name),
    partitions: partitions.map(({ partitionId, leader, leaderEpoch, replicas, isr }) => ({
      partition: partitionId,
      leader,
      leaderEpoch,
      replicas,
      isr,
      ...offsetsOf(broker.replicas.existingLog(broker.replicas.find(topicId, partitionId))),
    })),
  }))
}

/** Where nothing was ever written there is no log, and none is made for the picture. */
function offsetsOf(log: Log | undefined) {
  return {
    logStartOffset: log?.logStartOffset ?? 0,
    highWatermark: log?.highWatermark ?? 0,
    logEndOffset: log?.logEndOffset ?? 0,
    sizeInBytes: log?.sizeInBytes ?? 0,
  }
}

function describeGroups({ context, offsets }: GroupMachine, broker: Broker): GroupDescription[] {
  return [...context.groups.values()].map(group => ({
    groupId: group.groupId,
    state: group.state,
    protocolType: group.protocolType ?? '',
    protocolName: group.protocolName ?? '',
    generationId: group.generationId,
    members: [...group.members.values()].map(({ memberId, clientId, clientHost }) => ({
      memberId,
      clientId,
      clientHost,
    })),
    offsets: [...offsets.of(group.groupId)].flatMap(([topic, partitions]) =>
      [...partitions].map(([partition, { offset }]) => ({
        topic,
        partition,
        committed: offset,
        lag: lagOf(topic, partition, offset, broker),
      })),
    ),
  }))
}

function lagOf(topic: string, index: number, committed: number, { image, replicas }: Broker): number {
  const topicId = image.topicsByName.get(topic)?.topicId
  const partition = topicId === undefined ? undefined : replicas.find(topicId, index)
  if (partition === undefined || !partition.isLeader) return -1
  return Math.max(0, (replicas.existingLog(partition)?.highWatermark ?? 0) - committed)
}
