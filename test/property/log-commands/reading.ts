/** The one reader: it polls, seeks and commits. */

import { expect } from 'vitest'
import type { LogWorld } from '../log-world.ts'
import { LogCommand, type Model, nameOf, partitionOf } from './log-command.ts'

export class Poll extends LogCommand {
  readonly partition: number
  readonly max: number
  constructor(partition: number, max: number) {
    super()
    this.partition = partition
    this.max = max
  }
  act({ partitions, group }: Model, real: LogWorld) {
    const index = this.partition % partitions.length
    let expected: unknown
    const error = nameOf(() => {
      const records = group.pollPartition(index, this.max)
      expected = records.map(({ offset, value, timestamp }) => ({ offset, value, timestamp }))
    })
    expect(real.poll(index, this.max)).toEqual(error === 'NONE' ? expected : error)
    if (error === 'NONE') expect(real.position(index)).toBe(group.position(index))
  }
}

export class Seek extends LogCommand {
  readonly partition: number
  readonly offset: number
  constructor(partition: number, offset: number) {
    super()
    this.partition = partition
    this.offset = offset
  }
  act(model: Model, real: LogWorld) {
    const index = partitionOf(model, this.partition)
    model.group.seek(index, this.offset)
    real.seek(index, this.offset)
  }
}

export class SeekToTime extends LogCommand {
  readonly partition: number
  readonly age: number
  constructor(partition: number, age: number) {
    super()
    this.partition = partition
    this.age = age
  }
  act(model: Model, real: LogWorld) {
    const index = partitionOf(model, this.partition)
    const timestamp = real.now - this.age
    model.group.seekToTime(index, timestamp)
    real.seekToTime(index, timestamp)
    expect(real.position(index)).toBe(model.group.position(index))
  }
}

export class Commit extends LogCommand {
  act({ group, partitions }: Model, real: LogWorld) {
    group.commit()
    real.commit(partitions.map((_, partition) => ({ partition, offset: real.position(partition) ?? -1 })))
  }
}

export class CommitThrough extends LogCommand {
  readonly partition: number
  readonly offset: number
  constructor(partition: number, offset: number) {
    super()
    this.partition = partition
    this.offset = offset
  }
  act(model: Model, real: LogWorld) {
    const index = partitionOf(model, this.partition)
    model.group.commitThrough(index, this.offset)
    // A client that never lowers what it committed has to look first; the broker stores what it is told.
    if (real.committed()[index] <= this.offset) real.commit([{ partition: index, offset: this.offset + 1 }])
  }
}
