import { isActive, type PartitionImage, type TopicImage } from '../../broker/metadata/image.ts'
import type { DecisionContext } from '../decision-context.ts'
import { changePartition, NO_LEADER, type PartitionChange, type PartitionRules } from './partition-change.ts'

/**
 * What follows for partitions when a broker comes or goes (`ReplicationControlManager.generateLeaderAndIsrUpdates`): who is gone leaves the
 * in-sync replicas, and somebody else leads; who is back leads what nobody leads.
 */

/** Who may lead. */
interface Candidates {
  /** Says it of a broker, whatever its replicas are like; by default of those that live. */
  readonly mayLead?: (brokerId: number) => boolean
  /** A broker that was started again: which of its replicas had failed counts no more. */
  readonly restarted?: number
}

/** What the controller holds a partition's changes against. Nobody leads whose log failed. */
export function rulesOf(
  { name, topicId }: TopicImage,
  partitionId: number,
  context: DecisionContext,
  { mayLead = activeIn(context), restarted }: Candidates = {},
): PartitionRules {
  const { image } = context
  const isHealthy = (id: number) => id === restarted || !image.isReplicaOffline(id, topicId, partitionId)
  return {
    isAcceptableLeader: id => mayLead(id) && isHealthy(id),
    minInsyncReplicas: context.topicConfig(name).number('min.insync.replicas'),
  }
}

function activeIn({ image }: DecisionContext) {
  return (id: number) => isActive(image.brokers.get(id))
}

/** Applies a change to every partition that it concerns; `change` says how, or undefined for those left alone. */
function changeAll(
  context: DecisionContext,
  candidates: Candidates,
  change: (partition: PartitionImage) => PartitionChange | undefined,
): void {
  for (const topic of context.image.topicsByName.values()) {
    for (const partition of topic.partitions) {
      const wanted = change(partition)
      if (wanted !== undefined) changeOne(topic, partition, context, candidates, wanted)
    }
  }
}

function changeOne(
  topic: TopicImage,
  partition: PartitionImage,
  context: DecisionContext,
  candidates: Candidates,
  wanted: PartitionChange,
): void {
  const config = context.topicConfig(topic.name)
  const election = config.boolean('unclean.leader.election.enable') ? 'unclean' : 'online'
  const rules = rulesOf(topic, partition.partitionId, context, candidates)
  const next = changePartition(partition, { election, ...wanted }, rules)
  if (next !== undefined) context.append({ type: 'partition', topicId: topic.topicId, ...next })
}

/** One replica of the broker leaves the in-sync replicas: its log failed, which the image need not know yet. */
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
  const isr = partition.isr.filter(id => id !== brokerId)
  changeOne(topic, partition, context, { mayLead: others(brokerId, context) }, { isr })
}

/** The broker leaves all in-sync replicas: it was fenced, shuts down, or was taken out. */
export function withdrawBroker(brokerId: number, context: DecisionContext): void {
  changeAll(context, { mayLead: others(brokerId, context) }, partition => {
    if (!partition.isr.includes(brokerId) && partition.leader !== brokerId) return undefined
    return { isr: partition.isr.filter(id => id !== brokerId) }
  })
}

/** Says of a broker whether it lives and is another one. */
function others(brokerId: number, context: DecisionContext) {
  const isActiveBroker = activeIn(context)
  return (id: number) => id !== brokerId && isActiveBroker(id)
}

/** The broker lost what it had not flushed: it is no safe leader of anything it was in sync with, or eligible for. */
export function distrustBroker(brokerId: number, context: DecisionContext): void {
  changeAll(context, { mayLead: others(brokerId, context) }, partition => {
    if (!partition.isr.includes(brokerId) && !partition.elr.includes(brokerId)) return undefined
    return { isr: partition.isr.filter(id => id !== brokerId), uncleanShutdown: [brokerId] }
  })
}

/** The broker may lead again: it is asked where nobody leads. With `isRestarted` it was just started, and all its replicas are as good as new. */
export function admitBroker(brokerId: number, context: DecisionContext, { isRestarted = false } = {}): void {
  const isActiveBroker = activeIn(context)
  const mayLead = (id: number) => id === brokerId || isActiveBroker(id)
  changeAll(context, { mayLead, ...(isRestarted && { restarted: brokerId }) }, partition =>
    partition.leader === NO_LEADER && partition.replicas.includes(brokerId) ? {} : undefined,
  )
}

/** Moves leadership back to the first replicas, as far as those are in sync (`auto.leader.rebalance.enable`). */
export function balanceLeaders(context: DecisionContext): void {
  changeAll(context, {}, partition =>
    partition.leader === partition.replicas[0] || partition.leader === NO_LEADER
      ? undefined
      : { election: 'preferred' },
  )
}

/** Elects whoever lives where nobody leads and the topic allows it, for instance since a short while. */
export function electUncleanly(context: DecisionContext): void {
  changeAll(context, {}, partition => (partition.leader === NO_LEADER ? {} : undefined))
}

/** The minimum of in-sync replicas changed: who was eligible by the old one need not be by the new. */
export function forgetEligible(topic: string | undefined, context: DecisionContext): void {
  for (const each of context.image.topicsByName.values()) {
    if (topic !== undefined && topic !== each.name) continue
    for (const partition of each.partitions) {
      if (partition.elr.length === 0) continue
      const next = changePartition(partition, { forgetElr: true }, rulesOf(each, partition.partitionId, context))
      if (next !== undefined) context.append({ type: 'partition', topicId: each.topicId, ...next })
    }
  }
}
