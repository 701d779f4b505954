/**
 * `ottla lab rebalance`: what each assignor makes of members that come and go, and how many partitions change their owner for
 * it. The figures are those of the model's `compareAssignors`.
 */
import { type Assignment, type AssignorName, compareAssignors } from '../../model/index.ts'
import { formatNumbers, renderTable } from './table.ts'

export interface RebalanceOptions {
  partitions: number
  members: string[]
  /** `+d`: d joins; `-a`: a leaves. */
  changes: string[]
}

export interface RebalanceReport {
  lab: 'rebalance'
  partitions: number
  members: string[]
  changes: {
    change: string
    /** The members after the change. */
    members: string[]
    assignors: Record<AssignorName, { before: Assignment; after: Assignment; moved: number }>
  }[]
  /** Moved partitions of all changes, by assignor. */
  total: Record<AssignorName, number>
}

const ASSIGNORS: Record<AssignorName, string> = {
  range: 'consecutive partitions, in the order of names; forgets who had what',
  roundrobin: 'dealt out one by one; forgets who had what',
  sticky: 'balance first, and then everybody keeps as much as possible',
  'cooperative-sticky': 'the same in two rounds: what moves is given up, then handed out',
}

const NAMES = Object.keys(ASSIGNORS) as AssignorName[]

/** Asks the model. Names of members and changes have been checked. */
export function rebalanceReport(options: RebalanceOptions): RebalanceReport {
  const { partitions, members, changes } = options
  const { rows, total } = compareAssignors({ partitions, members, changes })
  return {
    lab: 'rebalance',
    partitions,
    members: [...members].sort(),
    changes: rows.map(row => {
      const { change, before, after, moves } = row
      const assignors = perAssignor(name => ({ before: before[name], after: after[name], moved: moves[name] }))
      return { change, members: row.members, assignors }
    }),
    total,
  }
}

function perAssignor<T>(make: (name: AssignorName) => T): Record<AssignorName, T> {
  return Object.fromEntries(NAMES.map(name => [name, make(name)])) as Record<AssignorName, T>
}

export function rebalanceAsText(report: RebalanceReport): string {
  const { partitions, members, changes, total } = report
  const lines = [
    `ottla lab rebalance: ${partitions} partitions, members ${members.join(' ')}`,
    '',
    ...renderTable(NAMES.map(name => [`  ${name}`, ASSIGNORS[name]])),
  ]
  let membersBefore = members
  for (const [index, change] of changes.entries()) {
    lines.push('', `${index + 1}. ${titleOf(change.change, membersBefore)}`, '', ...drawChange(change))
    lines.push('', `   ${verdict(perAssignor(name => change.assignors[name].moved))}`)
    membersBefore = change.members
  }
  if (changes.length > 1) {
    const rows = NAMES.map(name => {
      return [`  ${name}`, changes.map(({ assignors }) => assignors[name].moved).join(' + '), `= ${total[name]}`]
    })
    lines.push('', 'Partitions that moved, in all', '', ...renderTable(rows), '', `  ${verdict(total)}`)
  }
  lines.push('', ...MEANING)
  return `${lines.join('\n')}\n`
}

const MEANING = [
  'A partition that moves means a consumer that stops, another one that starts at the committed offset,',
  'and state (caches, tables, open files) that has to be built again.',
]

function titleOf(change: string, members: readonly string[]): string {
  const member = change.slice(1)
  const joins = change.startsWith('+')
  if (joins === members.includes(member)) {
    return `${change}: ${member} is ${joins ? 'already' : 'not'} a member, so nothing happens`
  }
  return `${change}: ${member} ${joins ? 'joins' : 'leaves (or crashes)'}`
}

function drawChange({ assignors }: RebalanceReport['changes'][number]): string[] {
  const rows = [['   assignor', 'moved', 'member', 'before', 'after', 'taken over']]
  for (const name of NAMES) {
    const { before, after, moved } = assignors[name]
    const hadAnOwner = new Set([...before.values()].flat())
    const members = [...new Set([...before.keys(), ...after.keys()])].sort()
    for (const [index, member] of members.entries()) {
      const label = index === 0 ? [`   ${name}`, String(moved)] : ['', '']
      const had = before.get(member)
      const has = after.get(member)
      const takenOver = (has ?? []).filter(partition => hadAnOwner.has(partition) && !had?.includes(partition))
      rows.push([
        ...label,
        member,
        drawShare(had),
        drawShare(has),
        takenOver.length > 0 ? formatNumbers(takenOver) : '',
      ])
    }
  }
  return renderTable(rows)
}

/** A member that is not there has no share; one that is there and idle has an empty one. */
function drawShare(partitions: readonly number[] | undefined): string {
  if (partitions === undefined) return ''
  return partitions.length === 0 ? 'idle' : formatNumbers(partitions)
}

function verdict(moved: Record<AssignorName, number>): string {
  const fewest = Math.min(...Object.values(moved))
  const most = Math.max(...Object.values(moved))
  if (most === fewest) return `All assignors move ${fewest}.`
  const withCount = (count: number) => NAMES.filter(name => moved[name] === count).join(', ')
  return `Fewest moved: ${fewest} (${withCount(fewest)}). Most: ${most} (${withCount(most)}).`
}
