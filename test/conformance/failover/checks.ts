/**
 * What has to be true of a run in which brokers failed, of one client: its records are stored once, in order and where it was told, its group
 * read them all and in order, and what the group committed never went back by itself.
 *
 * Plain functions of what was seen: each gives the problems that it found, in words.
 */
import type { Acknowledgement } from '../client.ts'

export interface Stored {
  offset: number
  value: string
}

/** A record as a member got it: after its how-manyeth assignment. A member that began anew is another one. */
export interface Reading {
  member: string
  assignment: number
  partition: number
  offset: number
  value: string
  /** It begins where this member had been before: see `withReturns`. */
  returns?: boolean
}

/** Where a member said that it goes on in a partition, and where it was, when it had read of it. */
export interface Beginning {
  member: string
  partition: number
  offset: number
  was: number | undefined
}

/** Offsets of a partition that the cluster says it lost: from `from` up to, and without, `to`. */
export interface LostRange {
  partition: number
  from: number
  to: number
}

/** What a partition holds, by its number. */
export type StoredPartitions = ReadonlyMap<number, readonly Stored[]>

/** More of a kind are only counted. */
const MOST_TOLD = 5

class Problems {
  readonly #kinds = new Map<string, string[]>()

  add(kind: string, what: string): void {
    const found = this.#kinds.get(kind)
    if (found === undefined) this.#kinds.set(kind, [what])
    else found.push(what)
  }

  list(): string[] {
    return [...this.#kinds].map(([kind, found]) => {
      const more = found.length > MOST_TOLD ? `, and ${found.length - MOST_TOLD} more` : ''
      return `${kind}: ${found.slice(0, MOST_TOLD).join(', ')}${more}`
    })
  }
}

/** No acknowledged record is lost but those in `lost`, none is there twice, and each partition has them in the order in which they were sent. */
export function checkStored(
  acknowledged: readonly Acknowledgement[],
  stored: StoredPartitions,
  lost: readonly LostRange[] = [],
): string[] {
  const problems = new Problems()
  const found = new Map<string, { partition: number; offset: number }>()
  for (const [partition, records] of stored) {
    let last = -1
    for (const { offset, value } of records) {
      const earlier = found.get(value)
      if (earlier !== undefined) problems.add('doubled', `${value} at ${earlier.offset} and ${offset}`)
      found.set(value, { partition, offset })
      const [belongs, number] = value.split(':').map(Number)
      if (belongs !== partition) problems.add('in the wrong partition', `${value} in ${partition}`)
      if (number <= last && earlier === undefined) problems.add('out of order', `${value} at ${offset} after ${last}`)
      last = number
    }
  }
  const told = new Set<string>()
  for (const { partition, offset, value } of acknowledged) {
    if (told.has(value)) problems.add('acknowledged twice', value)
    told.add(value)
    const place = found.get(value)
    const isNamed = lost.some(range => range.partition === partition && isIn(range, offset))
    if (place === undefined && !isNamed) problems.add('lost', `${value}, acknowledged at ${offset ?? 'some offset'}`)
    else if (place !== undefined && offset !== undefined && offset !== place.offset) {
      problems.add('elsewhere than acknowledged', `${value} at ${place.offset}, not ${offset}`)
    }
  }
  return problems.list()
}

function isIn({ from, to }: LostRange, offset: number | undefined): boolean {
  return offset !== undefined && from <= offset && offset < to
}

/** Everything stored was read, as it is stored; and between two assignments a member read each partition without a gap and without going back. */
export function checkRead(readings: readonly Reading[], stored: StoredPartitions): string[] {
  const problems = new Problems()
  const values = new Map<string, string>()
  for (const [partition, records] of stored) {
    for (const { offset, value } of records) values.set(`${partition}@${offset}`, value)
  }
  const read = new Set<string>()
  const positions = new Map<string, number>()
  for (const { member, assignment, partition, offset, value } of readings) {
    const place = `${partition}@${offset}`
    read.add(place)
    if (values.get(place) !== value) problems.add('read, and not stored so', `${value} at ${place}`)
    const run = `${member}/${assignment}/${partition}`
    const position = positions.get(run)
    if (position !== undefined && position !== offset) {
      problems.add('not in order', `${member} went from ${partition}@${position - 1} to ${place}`)
    }
    positions.set(run, offset + 1)
  }
  for (const [place, value] of values) if (!read.has(place)) problems.add('never read', `${value} at ${place}`)
  return problems.list()
}

/**
 * For a client that also goes on from where it has been before, without asking what is committed. It takes a new beginning for what it is:
 * where a member goes back, or on to a place at which it has been, it begins anew, as if it had been assigned the partition at that moment.
 * Nobody else's place is its own: one that it has not read up to is still a gap, or has to be committed.
 */
export function withReturns(readings: readonly Reading[]): Reading[] {
  const places = new Map<string, Set<number>>()
  const runs = new Map<string, { next: number; count: number }>()
  return readings.map(reading => {
    const { member, assignment, partition, offset } = reading
    const own = places.get(`${member}/${partition}`) ?? new Set()
    places.set(`${member}/${partition}`, own)
    const before = runs.get(`${member}/${assignment}/${partition}`)
    const hasBeenHere = own.has(offset)
    const isAnew = before !== undefined && offset !== before.next && (offset < before.next || hasBeenHere)
    const count = (before?.count ?? 0) + (isAnew ? 1 : 0)
    own.add(offset + 1)
    runs.set(`${member}/${assignment}/${partition}`, { next: offset + 1, count })
    const returns = hasBeenHere && (isAnew || before === undefined)
    return { ...reading, assignment: assignment + count / 1000, ...(returns && { returns }) }
  })
}

/**
 * What was seen of a committed offset, one look after the other, are commits in the order in which they were made: none that was seen is
 * replaced by an earlier one.
 */
export function checkCommitted(commits: readonly number[], seen: readonly number[]): string[] {
  let at = -1
  for (const offset of seen) {
    // Nothing was committed yet.
    if (offset < 0 && at < 0) continue
    const next = commits.indexOf(offset, Math.max(at, 0))
    if (next < 0) return [`committed ${offset} was seen, which is no commit after ${commits[at] ?? 'none'}`]
    at = next
  }
  return []
}

/** After an assignment a member goes on from a commit, or from the beginning when there was none, or returns, where `withReturns` says so. */
export function checkResumed(
  readings: readonly Reading[],
  commits: (partition: number) => readonly number[],
): string[] {
  const problems = new Problems()
  const runs = new Set<string>()
  for (const { member, assignment, partition, offset, returns } of readings) {
    const run = `${member}/${assignment}/${partition}`
    if (runs.has(run)) continue
    runs.add(run)
    if (offset !== 0 && !returns && !commits(partition).includes(offset)) {
      problems.add('began where nobody committed', `${member} at ${partition}@${offset}`)
    }
  }
  return problems.list()
}

/** The same of what a member told: it goes on from a commit, or from the beginning, or stays where it is when there was no commit. */
export function checkBeginnings(
  beginnings: readonly Beginning[],
  commits: (partition: number) => readonly number[],
): string[] {
  const problems = new Problems()
  for (const { member, partition, offset, was } of beginnings) {
    if (offset !== 0 && offset !== was && !commits(partition).includes(offset)) {
      problems.add(
        'told to begin where nobody committed',
        `${member} at ${partition}@${offset}, was at ${was ?? 'none'}`,
      )
    }
  }
  return problems.list()
}
