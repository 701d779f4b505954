import type { Broker } from './broker.ts'

/**
 * Takes members out of their groups as if they had said goodbye: tests that know that a client is gone need not wait until its
 * session ends. It goes the way of LeaveGroup, so whoever is left rebalances.
 */

/** LeaveGroup has a list of members from version 3 on. */
const API_VERSION = 5

/** Who goes, and why, as the log of the broker tells. */
export interface Eviction {
  readonly groupId?: string
  readonly memberId?: string
  readonly reason: string
}

/** Evicts from one group or from all. Returns how many members there were; they are gone once the turns have run. */
export function evictMembers(broker: Broker, { groupId, memberId, reason }: Eviction): number {
  let count = 0
  for (const { context } of broker.groups.machines()) {
    for (const group of context.groups.values()) {
      if (groupId !== undefined && group.groupId !== groupId) continue
      const members = [...group.members.keys(), ...group.pendingJoin]
        .filter(id => memberId === undefined || id === memberId)
        .map(id => ({ memberId: id, groupInstanceId: group.members.get(id)?.groupInstanceId ?? null, reason }))
      if (members.length === 0) continue
      count += members.length
      const request = { groupId: group.groupId, memberId: '', members }
      broker.groups.leaveGroup(request, { apiVersion: API_VERSION, clientId: 'ottla', clientHost: '/127.0.0.1' })
    }
  }
  return count
}
