import type { PartitionImage } from '../../broker/metadata/image.ts'

/**
 * What becomes of a partition when its in-sync replicas, its assignment or the brokers change: reassignments that are complete are
 * concluded, eligible leader replicas kept (KIP-966), a leader elected where that is needed, epochs raised (Kafka's
 * `PartitionChangeBuilder`). It decides about one partition and knows no brokers but by what it is told of them.
 */

/** Who may be elected: `online` for who is in sync or eligible, the same with the first replica first, and anybody who lives. */
type Election = 'online' | 'preferred' | 'unclean'

export interface PartitionChange {
  readonly isr?: readonly number[]
  /** All replicas, with those that are to go last. */
  readonly replicas?: readonly number[]
  readonly addingReplicas?: readonly number[]
  readonly removingReplicas?: readonly number[]
  readonly election?: Election
  /** Replicas that may have lost what they had not flushed: they are no safe leaders any more. */
  readonly uncleanShutdown?: readonly number[]
  readonly leaderRecoveryState?: number
  /** The minimum of in-sync replicas changed, so who is eligible is found out anew. */
  readonly forgetElr?: boolean
}

export interface PartitionRules {
  readonly isAcceptableLeader: (brokerId: number) => boolean
  readonly minInsyncReplicas: number
}

export const NO_LEADER = -1
const RECOVERING = 1

/** The partition as it is to be, or undefined when nothing changes. */
export function changePartition(
  partition: PartitionImage,
  change: PartitionChange,
  rules: PartitionRules,
): PartitionImage | undefined {
  const target = completed(partition, change)
  const eligible = change.forgetElr ? { elr: [], lastKnownElr: [] } : eligibleReplicas(partition, target, change, rules)
  const next: Draft = { ...partition, ...target, ...eligible, leaderRecoveryState: recoveryState(partition, change) }
  elect(next, partition, change.election ?? 'online', rules)
  noteLastLeader(next, partition)
  // Who leads stays, but replicas go: an old follower must not be taken for one of the new.
  const lostReplica = !partition.replicas.every(id => next.replicas.includes(id))
  if (next.leader !== partition.leader || lostReplica) next.leaderEpoch = partition.leaderEpoch + 1
  if (isSame(next, partition)) return undefined
  return { ...next, partitionEpoch: partition.partitionEpoch + 1 }
}

type Draft = { -readonly [Name in keyof PartitionImage]: PartitionImage[Name] }
type Assignment = Pick<PartitionImage, 'isr' | 'replicas' | 'addingReplicas' | 'removingReplicas'>

function recoveryState(partition: PartitionImage, change: PartitionChange): number {
  return change.leaderRecoveryState ?? partition.leaderRecoveryState
}

/** A reassignment is over once all that it adds are in sync, and somebody is in sync who stays. */
function completed(partition: PartitionImage, change: PartitionChange): Assignment {
  const { isr, replicas, addingReplicas, removingReplicas } = { ...partition, ...defined(change) }
  const staying = isr.filter(id => !removingReplicas.includes(id))
  const isMoving = addingReplicas.length > 0 || removingReplicas.length > 0
  if (!isMoving || staying.length === 0 || !addingReplicas.every(id => staying.includes(id))) {
    return { isr, replicas, addingReplicas, removingReplicas }
  }
  const kept = replicas.filter(id => !removingReplicas.includes(id))
  return { isr: staying, replicas: kept, addingReplicas: [], removingReplicas: [] }
}

function defined({ isr, replicas, addingReplicas, removingReplicas }: PartitionChange): Partial<Assignment> {
  return {
    ...(isr && { isr }),
    ...(replicas && { replicas }),
    ...(addingReplicas && { addingReplicas }),
    ...(removingReplicas && { removingReplicas }),
  }
}

/**
 * While the in-sync replicas are fewer than the minimum the high watermark stands still: so whoever left them since has all that
 * is below it, and may lead. Nobody is remembered once there are enough again.
 */
function eligibleReplicas(
  partition: PartitionImage,
  target: Assignment,
  { uncleanShutdown = [] }: PartitionChange,
  { minInsyncReplicas }: PartitionRules,
): Pick<PartitionImage, 'elr' | 'lastKnownElr'> {
  if (target.isr.length >= Math.min(minInsyncReplicas, target.replicas.length)) return { elr: [], lastKnownElr: [] }
  const candidates = [...new Set([...partition.elr, ...partition.isr])]
  const elr = candidates.filter(
    id => !target.isr.includes(id) && !uncleanShutdown.includes(id) && target.replicas.includes(id),
  )
  return { elr, lastKnownElr: partition.lastKnownElr }
}

function elect(next: Draft, partition: PartitionImage, election: Election, rules: PartitionRules): void {
  const { isAcceptableLeader } = rules
  const isValid = (id: number) => (next.isr.includes(id) || next.elr.includes(id)) && isAcceptableLeader(id)
  const [preferred = NO_LEADER] = next.replicas
  let leader: number | undefined
  let isUnclean = false
  if (election === 'preferred' && isValid(preferred)) leader = preferred
  else if (isValid(partition.leader)) leader = partition.leader
  leader ??= next.replicas.find(isValid)
  if (leader === undefined && isLastLeader(next, isAcceptableLeader)) {
    isUnclean = true
    leader = next.lastKnownElr[0]
  }
  if (leader === undefined && election === 'unclean') {
    leader = next.replicas.find(isAcceptableLeader)
    isUnclean = leader !== undefined
  }
  next.leader = leader ?? NO_LEADER
  if (leader === undefined) return
  if (isUnclean) {
    // It is known of nobody else what he has, and of this one only that he lives.
    next.isr = [leader]
    next.elr = []
    next.lastKnownElr = []
    next.leaderRecoveryState = RECOVERING
  } else if (next.elr.includes(leader)) {
    next.isr = [leader]
    next.elr = next.elr.filter(id => id !== leader)
  }
}

/** Nobody is in sync or eligible, and the last who led is back: the best there is. */
function isLastLeader({ isr, elr, lastKnownElr }: Draft, isAcceptableLeader: (id: number) => boolean): boolean {
  return isr.length === 0 && elr.length === 0 && lastKnownElr.length === 1 && isAcceptableLeader(lastKnownElr[0])
}

/** Who led last is remembered when a partition loses its last in-sync replica, and forgotten once somebody leads. */
function noteLastLeader(next: Draft, partition: PartitionImage): void {
  if (next.leader !== NO_LEADER) next.lastKnownElr = []
  else if (next.isr.length === 0 && partition.isr.length > 0 && partition.leader !== NO_LEADER) {
    next.lastKnownElr = [partition.leader]
  }
}

const LISTS = ['isr', 'replicas', 'addingReplicas', 'removingReplicas', 'elr', 'lastKnownElr'] as const

function isSame(a: PartitionImage, b: PartitionImage): boolean {
  if (a.leader !== b.leader || a.leaderEpoch !== b.leaderEpoch) return false
  if (a.leaderRecoveryState !== b.leaderRecoveryState) return false
  return LISTS.every(name => a[name].length === b[name].length && a[name].every((id, at) => id === b[name][at]))
}
