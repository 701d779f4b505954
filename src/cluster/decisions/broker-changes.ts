import { isActive, type PartitionImage, type TopicImage } from '../../broker/metadata/image.ts'
import type { DecisionContext } from '../decision-context.ts'
import { changePartition, NO_LEADER, type PartitionChange } from './partition-change.ts'

/**
 * What follows for partitions when a broker comes or goes (`ReplicationControlManager.generateLeaderAndIsrUpdates`): who is gone leaves the
 * in-sync replicas, and somebody else leads; who is back leads what nobody leads.
 */

/** What the controller holds a partition's changes against. */
export function rulesOf(topic: string, context: DecisionContext, isAcceptableLeader = activeIn(context)) {
  return { isAcceptableLeader, minInsyncReplicas: context.topicConfig(topic).number('min.insync.replicas') }
}

function activeIn({ image }: DecisionContext) {
  return (id: number) => isActive(image.brokers.get(id))
}

/** Applies a change to every partition that it concerns; `change` says how, or undefined for those left alone. */
function changeAll(
  context: DecisionContext,
  isAcceptableLeader: (id: number) => boolean,
  change: (partition: PartitionImage) => PartitionChange | undefined,
): void {
  for (const topic of context.image.topicsByName.values()) {
    for (const partition of topic.partitions) {
      const wanted = change(partition)
      if (wanted !== undefined) changeOne(topic, partition, context, isAcceptableLeader, wanted)
    }
  }
}

function changeOne(
  { name, topicId }: TopicImage,
  partition: PartitionImage,
  context: DecisionContext,
  isAcceptableLeader: (id: number) => boolean,
  wanted: PartitionChange,
): void {
  const config = context.topicConfig(name)
  const election = config.boolean('unclean.leader.election.enable') ? 'unclean' : 'online'
  const isHealthy = (id: number) => !context.failedReplicas.has(id, topicId, partition.partitionId)
  const rules = rulesOf(name, context, id => isAcceptableLeader(id) && isHealthy(id))
  const next = changePartition(partition, { election, ...wanted }, rules)
  if (next !== undefined) context.append({ type: 'partition', topicId, ...next })
}

/** One replica of the broker leaves the in-sync replicas: its log failed. */
export function withdrawReplica(
  brokerId: number,
  topicId: string,
  partitionId: number,
  context: DecisionContext,
): void {
  const topic = context.image.topicsById.get(topicId)
  const partition: PartitionImage | undefined = topic?.partitions[partitionId]
  if (topic === undefined || partition === undefined) return
  if (!partition.isr.includes(brokerId) && partition.leader !== brokerId) return
  changeOne(topic, partition, context, activeIn(context), { isr: partition.isr.filter(id => id !== brokerId) })
}

/** The broker leaves all in-sync replicas: it was fenced, shuts down, or was taken out. */
export function withdrawBroker(brokerId: number, context: DecisionContext): void {
  const isActiveBroker = activeIn(context)
  changeAll(
    context,
    id => id !== brokerId && isActiveBroker(id),
    partition => {
      if (!partition.isr.includes(brokerId) && partition.leader !== brokerId) return undefined
      return { isr: partition.isr.filter(id => id !== brokerId) }
    },
  )
}

/** The broker lost what it had not flushed: it is no safe leader of anything it was in sync with, or eligible for. */
export function distrustBroker(brokerId: number, context: DecisionContext): void {
  const isActiveBroker = activeIn(context)
  changeAll(
    context,
    id => id !== brokerId && isActiveBroker(id),
    partition => {
      if (!partition.isr.includes(brokerId) && !partition.elr.includes(brokerId)) return undefined
      return { isr: partition.isr.filter(id => id !== brokerId), uncleanShutdown: [brokerId] }
    },
  )
}

/** The broker may lead again: it is asked where nobody leads. */
export function admitBroker(brokerId: number, context: DecisionContext): void {
  const isActiveBroker = activeIn(context)
  changeAll(
    context,
    id => id === brokerId || isActiveBroker(id),
    partition => (partition.leader === NO_LEADER && partition.replicas.includes(brokerId) ? {} : undefined),
  )
}

/** Moves leadership back to the first replicas, as far as those are in sync (`auto.leader.rebalance.enable`). */
export function balanceLeaders(context: DecisionContext): void {
  changeAll(context, activeIn(context), partition =>
    partition.leader === partition.replicas[0] || partition.leader === NO_LEADER
      ? undefined
      : { election: 'preferred' },
  )
}

/** Elects whoever lives where nobody leads and the topic allows it, for instance since a short while. */
export function electUncleanly(context: DecisionContext): void {
  changeAll(context, activeIn(context), partition => (partition.leader === NO_LEADER ? {} : undefined))
}

/** The minimum of in-sync replicas changed: who was eligible by the old one need not be by the new. */
export function forgetEligible(topic: string | undefined, context: DecisionContext): void {
  for (const { name, topicId, partitions } of context.image.topicsByName.values()) {
    if (topic !== undefined && topic !== name) continue
    for (const partition of partitions) {
      if (partition.elr.length === 0) continue
      const next = changePartition(partition, { forgetElr: true }, rulesOf(name, context))
      if (next !== undefined) context.append({ type: 'partition', topicId, ...next })
    }
  }
}
