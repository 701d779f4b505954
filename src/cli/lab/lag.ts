/**
 * `ottla lab lag`: a consumer polls, commits, crashes, reads some records again, and goes back to the beginning. The figures
 * are those of the model's `ConsumerGroup`; a crash is what a crash does to it: the position is forgotten, and the next
 * consumer starts at the committed offset.
 */
import { ConsumerGroup, Partition } from '../../model/index.ts'
import { type Act, play, type Story } from './story.ts'

export interface LagState {
  endOffset: number
  /** The offset the group would start at after a crash. */
  committed: number
  /** The offset it reads next. */
  position: number
  lag: number
  committedLag: number
}

interface Scene {
  partition: Partition<string, string>
  group: ConsumerGroup<string, string>
  /** The offsets that were delivered so far. */
  delivered: Set<number>
}

const RECORDS = 10
const ALL = { action: 'The consumer polls all the rest, and commits.', run: pollAndCommit }

const ACTS: Act<Scene>[] = [
  {
    action: `A producer appends ${RECORDS} records. Nobody has read anything yet.`,
    run: ({ partition }) => {
      const offsets = Array.from({ length: RECORDS }, (_, i) => partition.append(null, `record-${i}`))
      return { offsets }
    },
    why: `Lag is a distance: from where the consumer is to the end of the log, the offset that the next record will get. It is
      no number of failures and no delay; right after the producer it is just everything there is.`,
  },
  {
    action: 'The consumer polls, at most 4 records.',
    run: scene => poll(scene, 4),
    why: `Polling moves the position, which lives in the consumer's memory. The committed offset lives in the broker and has
      not moved: the broker does not know that anything was done with these records.`,
  },
  {
    action: 'It has done its work with them, and commits.',
    run: commit,
    why: `What is committed is the next offset to read, not the last one done. Operators watch the lag behind the committed
      offset, because that is all that can be seen from outside.`,
  },
  {
    action: 'It polls 3 more records and works on them, but does not come to commit.',
    run: scene => poll(scene, 3),
    why: 'The position runs ahead of the committed offset. What lies between them would be read again after a crash.',
  },
  {
    action: 'The consumer crashes. Another one takes over, and asks the broker where to start.',
    run: ({ group }) => {
      group.seek(0, group.committed(0))
      return { startsAt: group.position(0) }
    },
    why: `The position died with the process. Only the committed offset is left, so the new consumer starts there, and the lag
      is back to what the operators saw all the time.`,
  },
  {
    action: 'The new consumer polls, at most 3 records.',
    run: scene => poll(scene, 3),
    why: `The same offsets as before the crash: each record is delivered at least once, some of them twice. Work that must not
      happen twice has to be made so that the second time does no harm.`,
  },
  { ...ALL, why: 'It has caught up: position, committed offset and end are the same, and both lags are zero.' },
  {
    action: 'Somebody found a bug in that work, and wants all of it done again: seek(0, 0), partition 0 to offset 0.',
    run: ({ group }) => {
      group.seek(0, 0)
      return null
    },
    why: `The lag jumps back up, and nothing is wrong: reading deleted no record, so the log can be read again as often as
      anybody likes. A queue that forgets what was acknowledged cannot do this. The committed offset has not moved.`,
  },
  {
    action: 'The consumer polls 4 records again, and commits.',
    run: scene => ({ ...poll(scene, 4), ...commit(scene) }),
    why: `A commit after going back lowers the committed offset too. Now operators see the lag jump, and a crash would go on
      with the replay, instead of forgetting it.`,
  },
  { ...ALL, why: 'The replay is done. Not one record was sent, copied or stored anew for it.' },
]

/** The whole lab. */
export function lagStory(): Story<LagState> {
  const partition = new Partition<string, string>()
  const scene: Scene = { partition, group: new ConsumerGroup([partition]), delivered: new Set() }
  return {
    lab: 'lag',
    about: 'how far behind a consumer is, and what makes that jump. The number in brackets is the end of the log.',
    steps: play(scene, ACTS, describe),
  }
}

function describe({ partition, group }: Scene): LagState {
  return {
    endOffset: partition.endOffset,
    committed: group.committed(0),
    position: group.position(0),
    lag: group.lag(0),
    committedLag: group.committedLag(0),
  }
}

function poll({ group, delivered }: Scene, max?: number) {
  const offsets = group.poll(max).map(record => record.offset)
  const deliveredBefore = offsets.filter(offset => delivered.has(offset))
  for (const offset of offsets) delivered.add(offset)
  return { offsets, deliveredBefore }
}

function commit({ group }: Scene) {
  group.commit()
  return { committed: group.committed(0) }
}

function pollAndCommit(scene: Scene) {
  return { ...poll(scene), ...commit(scene) }
}

/** The log as a ruler, with a mark for each of the two offsets. */
export function drawLag({ endOffset, committed, position, lag, committedLag }: LagState): string[] {
  const numbers = Array.from({ length: endOffset }, (_, offset) => String(offset).padStart(4))
  const mark = (offset: number) => '^'.padStart(4 * (offset + 1))
  return [
    `offset    ${numbers.join('')}${`(${endOffset})`.padStart(5)}`,
    `committed ${mark(committed)}  ${committed}`,
    `position  ${mark(position)}  ${position}`,
    '',
    `lag ${lag}: from the position ${position} to the end ${endOffset}`,
    `committed lag ${committedLag}: from the committed offset ${committed} to the end`,
  ]
}
