import type { Decision } from '../../coordinator/decision.ts'
import { prepareRebalance } from '../../coordinator/group/classic/rebalance.ts'
import type { Broker } from '../broker.ts'
import { CONSUMER_OFFSETS } from '../internal-topics.ts'
import type { Fault } from './fault.ts'
import type { FaultRule } from './fault-rule.ts'

/**
 * What goes wrong in a real cluster, by name, as far as one broker can do it: what can really happen happens (leader epochs rise, a
 * coordinator loads its groups from the log, members rebalance), and what takes a second broker is told to the clients.
 */

/** A named fault in plain data. */
export type NamedFault =
  | { readonly name: 'leaderMoves'; readonly topic: string; readonly partition?: number }
  | { readonly name: 'coordinatorMoves'; readonly group: string }
  | { readonly name: 'diskFull' }
  | { readonly name: 'slowDisk'; readonly delayMs: number }
  | { readonly name: 'rebalanceStorm'; readonly group: string; readonly times: number; readonly everyMs: number }

const OF_LEADERS = ['Produce', 'Fetch', 'ListOffsets', 'OffsetForLeaderEpoch']
const OF_COORDINATORS = ['JoinGroup', 'SyncGroup', 'Heartbeat', 'LeaveGroup', 'OffsetCommit', 'OffsetFetch']
const WRITES = ['Produce', 'OffsetCommit']

/** Puts a named fault in force: the faults that are to be ended, and how many requests they met, stand for it. */
export function addNamedFault(broker: Broker, fault: NamedFault): Fault[] {
  switch (fault.name) {
    case 'leaderMoves':
      return leaderMoves(broker, fault.topic, fault.partition)
    case 'coordinatorMoves':
      return coordinatorMoves(broker, fault.group)
    case 'diskFull':
    case 'slowDisk':
      return add(broker, ...rulesOfDisk(fault))
    case 'rebalanceStorm':
      return rebalanceStorm(broker, fault.group, fault.times, fault.everyMs)
  }
}

/** A disk that fails, as what requests meet. */
export function rulesOfDisk(fault: NamedFault & { readonly name: 'diskFull' | 'slowDisk' }): FaultRule[] {
  if (fault.name === 'slowDisk') return [{ api: WRITES, delayMs: fault.delayMs }]
  return [
    { api: 'Produce', error: 'KAFKA_STORAGE_ERROR' },
    // A coordinator tells of its own log as if it were no longer the coordinator.
    { api: ['OffsetCommit'], error: 'NOT_COORDINATOR' },
  ]
}

function add(broker: Broker, ...rules: FaultRule[]): Fault[] {
  return rules.map(rule => broker.faults.add(rule))
}

/** Every connection hears once, for each API, that the leader is elsewhere; the epochs that it then learns have risen. */
function leaderMoves(broker: Broker, topic: string, partition?: number): Fault[] {
  broker.link.send('raiseLeaderEpochs', { topic, partition: partition ?? -1, atLeast: 0 })
  return add(broker, ...rulesOfMovedLeader(topic, partition))
}

/** What a broker says that led and does not any more: once for each API to each connection. */
export function rulesOfMovedLeader(topic: string, partition?: number): FaultRule[] {
  return OF_LEADERS.map(api => ({ api, topic, partition, error: 'NOT_LEADER_OR_FOLLOWER', timesPerConnection: 1 }))
}

/** The coordinator answers whoever waits, forgets the group and loads it from its log; every connection is told to look again. */
function coordinatorMoves(broker: Broker, group: string): Fault[] {
  const partition = broker.groups.partitionFor(group)
  broker.link.send('raiseLeaderEpochs', { topic: CONSUMER_OFFSETS, partition, atLeast: 0 })
  return add(broker, ruleOfMovedCoordinator(group))
}

/** What a broker says that coordinated a group and does not any more. */
export function ruleOfMovedCoordinator(group: string): FaultRule {
  return { api: OF_COORDINATORS, group, error: 'NOT_COORDINATOR', timesPerConnection: 1 }
}

/** Begins rebalances of a group, one after the other. A group that is in the middle of one is left to it, and counts. */
function rebalanceStorm(broker: Broker, groupId: string, times: number, everyMs: number): Fault[] {
  // It meets no requests; as a fault it can be ended.
  const [fault] = add(broker, { group: groupId, delayMs: 0, times: 0 })
  const { context } = broker.groups.machine(broker.groups.partitionFor(groupId)) ?? {}
  let left = times
  const begin = (decision: Decision) => {
    const group = context?.groups.get(groupId)
    if (context === undefined || group === undefined || fault.ended || left-- <= 0) return
    if (group.canRebalance && group.members.size > 0)
      prepareRebalance(context, decision, group, 'a storm of rebalances')
    if (left > 0) context.timers.set(`storm:${groupId}`, everyMs, begin)
  }
  context?.timers.set(`storm:${groupId}`, 0, begin)
  return [fault]
}
