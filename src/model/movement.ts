// How much a rebalance moves: the price of an assignor. A partition that moves means a consumer that stops, another one that starts, and
// state (caches, tables, open files) that has to be built again. The command line and the console show these figures.

import { type Assignment, type AssignorName, assignorNames, assignPartitions, type TopicsAssignment } from './assign.ts'
import { checkName, checkRange } from './check.ts'

/**
 * How many partitions have another owner after than before. New and vanished partitions are not counted, nor are those that nobody
 * owns before or after.
 *
 * @example movement(new Map([['A', [0, 1]]]), new Map([['A', [0]], ['B', [1]]])) // 1
 */
export function movement(before: Assignment | TopicsAssignment, after: Assignment | TopicsAssignment): number {
  const ownersBefore = ownersOf(before)
  let moved = 0
  for (const [partition, owner] of ownersOf(after)) {
    const ownerBefore = ownersBefore.get(partition)
    if (ownerBefore !== undefined && ownerBefore !== owner) moved++
  }
  return moved
}

function ownersOf(assignment: Assignment | TopicsAssignment): Map<string, string> {
  const owners = new Map<string, string>()
  for (const [member, owned] of assignment) {
    for (const partition of owned) {
      const name = typeof partition === 'number' ? `${partition}` : `${partition.topic}:${partition.partition}`
      owners.set(name, member)
    }
  }
  return owners
}

export interface Comparison {
  /** One row per change, in order. */
  rows: ComparisonRow[]
  /** The sum of the moves, per assignor. */
  total: Record<AssignorName, number>
}

export interface ComparisonRow {
  /** `+d`: d joins; `-a`: a leaves. */
  change: string
  /** The members after the change, in order. */
  members: string[]
  before: Record<AssignorName, Assignment>
  after: Record<AssignorName, Assignment>
  moves: Record<AssignorName, number>
}

/**
 * What a series of changes costs with each assignor. A member that joins twice, or leaves without being there, changes nothing.
 * `cooperative-sticky` runs its rounds to the end: what it withholds in the first round it hands out in the second.
 *
 * @throws RangeError if a change is not `+member` or `-member`, or the partitions are not partitions
 * @example compareAssignors({ partitions: 12, members: ['a', 'b', 'c'], changes: ['+d'] }).total.sticky // 3
 */
export function compareAssignors(options: {
  partitions: number | readonly number[]
  members: readonly string[]
  changes: readonly string[]
}): Comparison {
  const { partitions, changes } = options
  for (const change of changes) {
    checkName('changes', change)
    checkRange(/^[+-]./su.test(change), 'changes', '+member or -member', change)
  }
  let members = [...new Set(options.members)].sort()
  let before = perAssignor(assignor => settledAssignment(members, partitions, assignor))
  const rows: ComparisonRow[] = []
  for (const change of changes) {
    const member = change.slice(1)
    const others = members.filter(other => other !== member)
    members = change.startsWith('+') ? [...others, member].sort() : others
    const after = perAssignor(assignor => settledAssignment(members, partitions, assignor, before[assignor]))
    const moves = perAssignor(assignor => movement(before[assignor], after[assignor]))
    rows.push({ change, members, before, after, moves })
    before = after
  }
  const total = perAssignor(assignor => rows.reduce((sum, row) => sum + row.moves[assignor], 0))
  return { rows, total }
}

/** Runs the rounds of a rebalance to its end: for cooperative-sticky two, for the others one. */
export function settledAssignment(
  members: readonly string[],
  partitions: number | readonly number[],
  assignor: AssignorName,
  previous?: Assignment,
): Assignment {
  const round = assignPartitions(members, partitions, { assignor, previous })
  return assignor === 'cooperative-sticky'
    ? assignPartitions(members, partitions, { assignor, previous: round })
    : round
}

function perAssignor<T>(make: (assignor: AssignorName) => T): Record<AssignorName, T> {
  return Object.fromEntries(assignorNames.map(name => [name, make(name)])) as Record<AssignorName, T>
}
