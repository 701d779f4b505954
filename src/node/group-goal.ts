/**
 * When a group is as somebody waits for it to be, and both in words, for the error of a wait in vain.
 */
import type { GroupView } from '../broker/group-view.ts'
import type { GroupGoal } from './broker-methods.ts'

export function isReached(group: GroupView, { stable, rebalancing, members, lag, topic }: GroupGoal): boolean {
  if (stable && !(group.stable && group.members.length > 0)) return false
  if (rebalancing && !group.state.endsWith('Rebalance')) return false
  if (members !== undefined && group.members.length !== members) return false
  if (lag === undefined) return true
  const partitions = partitionsOf(group, topic)
  return partitions.length > 0 && sum(partitions) <= lag
}

function partitionsOf({ partitions }: GroupView, topic: string | undefined) {
  return topic === undefined ? partitions : partitions.filter(each => each.topic === topic)
}

function sum(partitions: readonly { lag: number }[]): number {
  return partitions.reduce((total, { lag }) => total + lag, 0)
}

export function describeGoal(groupId: string, { stable, rebalancing, members, lag, topic }: GroupGoal): string {
  const wishes = [
    stable && 'stable',
    rebalancing && 'in a rebalance',
    members !== undefined && `of ${members} members`,
    lag !== undefined &&
      `with a lag of ${lag === 0 ? 0 : `at most ${lag}`}${topic === undefined ? '' : ` in ${topic}`}`,
  ]
  return `group ${groupId} to be ${wishes.filter(Boolean).join(', ')}`
}

export function describeGroupView(group: GroupView): string {
  if (group.state === 'Dead') return 'no such group'
  const members = group.members.map(({ clientId, memberId, assignment }) => {
    const assigned = assignment.map(({ topic, partitions }) => `${topic}[${partitions.join(',')}]`)
    return `${clientId || memberId} with ${assigned.join(' ') || 'nothing'}`
  })
  const lags = group.partitions.map(({ topic, partition, committed, lag }) => {
    return `${topic}-${partition} ${lag} behind ${committed < 0 ? 'its start, with nothing committed' : committed}`
  })
  const who = members.length === 0 ? 'no members' : `${members.length} members (${members.join('; ')})`
  return `a group that is ${group.state}, generation ${group.generationId}, ${who}, ${lags.join(', ') || 'nothing committed'}`
}
