/**
 * Histories of partitions and their reader that the model (`Partition`, `ConsumerGroup`) and the broker go through side by side:
 * numbered batches sent once, again or out of turn, retention and DeleteRecords, polls, seeks and commits of one group that
 * assigns itself what it reads.
 */

import * as fc from 'fast-check'
import { type AutoOffsetReset, ConsumerGroup, Partition } from '../../src/model/index.ts'
import { DeleteRecords, RetainBytes, RetainTime } from './log-commands/keeping.ts'
import { LogCommand, type Model, ONE_BATCH } from './log-commands/log-command.ts'
import { Commit, CommitThrough, Poll, Seek, SeekToTime } from './log-commands/reading.ts'
import { Append, BumpEpoch, FIRST_SEQUENCES, Resend, Send } from './log-commands/writing.ts'
import { LogWorld } from './log-world.ts'

class Wait extends LogCommand {
  readonly ms: number
  constructor(ms: number) {
    super()
    this.ms = ms
  }
  act(_model: Model, real: LogWorld) {
    real.world.env.advance(this.ms)
  }
}

const index = fc.nat(1)
const ages = fc.array(fc.integer({ min: -200, max: 2_000 }), { minLength: 1, maxLength: 4 })
const sender = fc.nat(FIRST_SEQUENCES.length - 1)
const offset = fc.nat(12)
const skip = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 1, arbitrary: fc.integer({ min: -2, max: 2 }) },
)
const send = fc.tuple(sender, ages, skip).map(args => new Send(...args))
const resend = fc.tuple(sender, fc.nat(6)).map(args => new Resend(...args))
const poll = fc.tuple(index, fc.nat(5)).map(args => new Poll(...args))

/** What comes twice comes twice as often. */
const commands = [
  fc.tuple(index, ages).map(args => new Append(...args)),
  send,
  send,
  send,
  resend,
  resend,
  poll,
  poll,
  fc.tuple(sender, fc.constantFrom(0, 0, 0, 1)).map(args => new BumpEpoch(...args)),
  fc.tuple(index, offset).map(args => new DeleteRecords(...args)),
  fc.integer({ min: 0, max: 3_000 }).map(ms => new RetainTime(ms)),
  fc.integer({ min: 0, max: 600 }).map(bytes => new RetainBytes(bytes)),
  fc.tuple(index, offset).map(args => new Seek(...args)),
  fc.tuple(index, fc.integer({ min: -200, max: 4_000 })).map(args => new SeekToTime(...args)),
  fc.constant(new Commit()),
  fc.tuple(index, offset).map(args => new CommitThrough(...args)),
  fc.integer({ min: 1, max: 1_500 }).map(ms => new Wait(ms)),
]

/** The property: whatever happens, model and broker agree. */
export function logHistories() {
  return fc.property(
    fc.integer({ min: 1, max: 2 }),
    fc.constantFrom(ONE_BATCH, 250, 1_000_000),
    fc.constantFrom<AutoOffsetReset>('earliest', 'latest', 'none'),
    fc.commands(commands, { size: '+1', maxCommands: 60 }),
    (count, segmentBytes, autoOffsetReset, history) => {
      const partitions = Array.from({ length: count }, () => new Partition<null, string>())
      const group = new ConsumerGroup(partitions, { autoOffsetReset })
      const batches = partitions.map(() => [])
      const model: Model = { partitions, group, batches, segmentBytes, senders: new Map(), values: 0 }
      fc.modelRun(() => ({ model, real: new LogWorld(count, segmentBytes, autoOffsetReset) }), history)
    },
  )
}
