/**
 * Histories of consumer groups that the model (`Topic`) and the broker go through side by side: the same records, the same
 * assignments, the same polls, the same committed offsets, and a refusal of one is a refusal of the other. mapping.md says
 * what counts as the same.
 */

import * as fc from 'fast-check'
import { expect } from 'vitest'
import { type AssignorName, assignorNames } from '../../src/model/assign.ts'
import { NotAssignedError, Topic } from '../../src/model/index.ts'
import { FENCED, GroupWorld, type Incarnation } from './group-world.ts'

const GROUPS = ['g', 'h']
const NAMES = ['a', 'b', 'c', 'd']

/** The model, and who is in which group. */
interface Model {
  readonly partitions: number
  readonly assignor: AssignorName
  topic: Topic<string, string>
  /** `group/name` of members that live, and of those that crashed while their session lasts. */
  readonly live: Set<string>
  readonly silent: Set<string>
  values: number
}

type GroupCommand = fc.Command<Model, GroupWorld>

/** Sticky assignments depend on what was before, so each change of membership has to come alone. */
const remembers = (model: Model) => model.assignor === 'sticky' || model.assignor === 'cooperative-sticky'

function newTopic(partitions: number, assignor: AssignorName): Topic<string, string> {
  const rebalance = assignor === 'cooperative-sticky' ? 'cooperative' : 'eager'
  return new Topic(partitions, { partitioner: 'murmur2', assignor, rebalance })
}

/** What can be seen of the two is the same. */
function agree({ topic, partitions, live }: Model, real: GroupWorld): void {
  const numbers = [...Array(partitions).keys()]
  expect(numbers.map(partition => real.endOffset(partition))).toEqual(numbers.map(each => topic.endOffset(each)))
  for (const group of GROUPS) {
    const committed = real.committed(group)
    // The model knows no difference between nothing committed and 0.
    expect(numbers.map(partition => committed.get(partition) ?? 0)).toEqual(
      numbers.map(partition => topic.committed(group, partition)),
    )
    for (const name of NAMES) {
      if (live.has(`${group}/${name}`)) expect(real.assignment(group, name)).toEqual(topic.assignment(group, name))
    }
  }
}

/** The sessions of the silent end, and the others hear of it. */
function expire(model: Model, real: GroupWorld, also: string[] = []): void {
  const groups = new Set(also)
  if (model.silent.size > 0) real.endSessions()
  for (const member of model.silent) {
    const [group, name] = member.split('/')
    model.topic.leave(group, name)
    groups.add(group)
  }
  model.silent.clear()
  for (const group of groups) real.settle(group)
}

abstract class OfMember implements GroupCommand {
  readonly group: string
  readonly name: string
  constructor([group, name]: [string, string]) {
    this.group = group
    this.name = name
  }
  get id() {
    return `${this.group}/${this.name}`
  }
  check(model: Readonly<Model>): boolean {
    return model.live.has(this.id)
  }
  run(model: Model, real: GroupWorld): void {
    this.act(model, real)
    agree(model, real)
  }
  abstract act(model: Model, real: GroupWorld): void
  toString() {
    return `${this.constructor.name} ${this.id}`
  }
}

class Join extends OfMember {
  override check(model: Readonly<Model>) {
    return !model.live.has(this.id)
  }
  act(model: Model, real: GroupWorld) {
    if (remembers(model)) expire(model, real)
    real.join(this.group, this.name)
    // One that crashed is still a member: the group waits for its session to end before it lets the new one in.
    expire(model, real, [this.group])
    model.topic.join(this.group, this.name)
    model.live.add(this.id)
  }
}

class Leave extends OfMember {
  act(model: Model, real: GroupWorld) {
    if (remembers(model)) expire(model, real)
    real.leave(this.group, this.name)
    model.topic.leave(this.group, this.name)
    model.live.delete(this.id)
    expire(model, real, [this.group])
  }
}

/** Nobody hears of a crash at once: the model's leave comes when the session ends. */
class Crash extends OfMember {
  override check(model: Readonly<Model>) {
    const isAlone = [...model.silent].every(each => !each.startsWith(`${this.group}/`))
    return super.check(model) && !model.silent.has(this.id) && (isAlone || !remembers(model))
  }
  act(model: Model, real: GroupWorld) {
    real.crash(this.group, this.name)
    model.live.delete(this.id)
    model.silent.add(this.id)
  }
}

class Poll extends OfMember {
  readonly max: number
  constructor(member: [string, string], max: number) {
    super(member)
    this.max = max
  }
  act({ topic }: Model, real: GroupWorld) {
    const expected = topic.poll(this.group, this.name, this.max)
    expect(real.poll(this.group, this.name, this.max)).toEqual(expected)
  }
  override toString() {
    return `${super.toString()} ${this.max}`
  }
}

class Commit extends OfMember {
  act({ topic }: Model, real: GroupWorld) {
    topic.commit(this.group, this.name)
    expect(real.commit(this.group, this.name)).toBe('NONE')
  }
}

/** Commits offsets for some of the member's own partitions, also beyond the end. */
class CommitOffsets extends OfMember {
  readonly offsets: readonly number[]
  constructor(member: [string, string], offsets: readonly number[]) {
    super(member)
    this.offsets = offsets
  }
  act({ topic }: Model, real: GroupWorld) {
    const own = topic.assignment(this.group, this.name)
    const offsets = offsetsFor(own, this.offsets)
    topic.commit(this.group, this.name, Object.fromEntries(offsets))
    expect(real.commit(this.group, this.name, offsets)).toBe('NONE')
  }
  override toString() {
    return `${super.toString()} ${this.offsets}`
  }
}

/** A partition for which the list says −1 is left out. */
function offsetsFor(partitions: readonly number[], offsets: readonly number[]): Map<number, number> {
  const chosen = partitions.map((partition, index) => [partition, offsets[index % offsets.length]] as const)
  return new Map(chosen.filter(([, offset]) => offset >= 0))
}

/** A member that crashed speaks once more: it is a member as long as its session lasts. */
class CommitOfTheSilent extends OfMember {
  override check(model: Readonly<Model>) {
    return model.silent.has(this.id)
  }
  act({ topic }: Model, real: GroupWorld) {
    const last = real.incarnations.filter(each => `${each.group}/${each.name}` === this.id).at(-1)!
    const offsets = offsetsFor(last.partitions, [1])
    if (offsets.size === 0) return
    topic.commit(this.group, this.name, Object.fromEntries(offsets))
    expect(real.commitAs(last, offsets)).toBe('NONE')
  }
}

/** Commits in the name of a member in a generation that is over. */
class CommitOfThePast implements GroupCommand {
  readonly which: number
  readonly offset: number
  constructor(which: number, offset: number) {
    this.which = which
    this.offset = offset
  }
  check() {
    return true
  }
  run(model: Model, real: GroupWorld) {
    const past = real.incarnations.filter(each => !isPresent(each, model, real))
    if (past.length === 0) return
    const { topic } = model
    // The latest ones first: they are the ones who could be taken for somebody of today.
    const then = past[past.length - 1 - (this.which % past.length)]
    const partitions = then.partitions.length > 0 ? then.partitions : [0]
    const lost = partitions.filter(each => !topic.assignment(then.group, then.name).includes(each))
    // What is the member's again the model would let it commit: it has no generations. The broker refuses that, too.
    if (lost.length > 0) {
      const commit = () => topic.commit(then.group, then.name, Object.fromEntries(offsetsFor(lost, [this.offset])))
      expect(commit).toThrow(NotAssignedError)
    }
    expect(FENCED).toContain(real.commitAs(then, offsetsFor(partitions, [this.offset])))
    agree(model, real)
  }
  toString() {
    return `CommitOfThePast ${this.which} ${this.offset}`
  }
}

/** Whether it is what its member still is: nothing of that name came after it, and the member is in the group. */
function isPresent({ group, name, generation }: Incarnation, model: Model, real: GroupWorld): boolean {
  const id = `${group}/${name}`
  const last = real.incarnations.filter(each => each.group === group && each.name === name).at(-1)!
  return last.generation === generation && (model.live.has(id) || model.silent.has(id))
}

class Append implements GroupCommand {
  readonly key: string | null
  readonly loseAnswerAfter: number | undefined
  constructor(key: string | null, loseAnswerAfter: number | undefined) {
    this.key = key
    this.loseAnswerAfter = loseAnswerAfter
  }
  check() {
    return true
  }
  run(model: Model, real: GroupWorld) {
    const value = `v${model.values++}`
    const [partition, offset] = model.topic.append(this.key, value)
    // A record without a key may go anywhere. With one, our producer and the model choose for themselves.
    const chosen = this.key === null ? partition : undefined
    expect(real.append(this.key, value, chosen, this.loseAnswerAfter)).toEqual([partition, offset])
    agree(model, real)
  }
  toString() {
    return `Append ${this.key}${this.loseAnswerAfter === undefined ? '' : `, losing answer ${this.loseAnswerAfter}`}`
  }
}

class EndOfSessions implements GroupCommand {
  check(model: Readonly<Model>) {
    return model.silent.size > 0
  }
  run(model: Model, real: GroupWorld) {
    expire(model, real)
    agree(model, real)
  }
  toString() {
    return 'EndOfSessions'
  }
}

/** Everybody leaves, the topic goes with all that was committed for it, and another one takes its name. */
class DeleteTopic implements GroupCommand {
  check() {
    return true
  }
  run(model: Model, real: GroupWorld) {
    expire(model, real)
    for (const member of model.live) {
      const [group, name] = member.split('/')
      real.leave(group, name)
    }
    model.live.clear()
    real.deleteTopic()
    for (const group of GROUPS) expect([...real.committed(group)]).toEqual([])
    real.createTopic()
    model.topic = newTopic(model.partitions, model.assignor)
    agree(model, real)
  }
  toString() {
    return 'DeleteTopic'
  }
}

const member = fc.tuple(fc.constantFrom(...GROUPS), fc.constantFrom(...NAMES))
const offset = fc.integer({ min: -1, max: 6 })
const append = fc
  .tuple(fc.option(fc.constantFrom('k', 'l', 'm')), fc.option(fc.nat(3), { nil: undefined, freq: 3 }))
  .map(([key, loseAnswerAfter]) => new Append(key, loseAnswerAfter))
const poll = fc.tuple(member, fc.nat(4)).map(([of, max]) => new Poll(of, max))
const join = member.map(of => new Join(of))
const commit = member.map(of => new Commit(of))
const commitOfThePast = fc.tuple(fc.nat(5), fc.nat(6)).map(([which, at]) => new CommitOfThePast(which, at))

/** What comes twice comes twice as often. */
const commands = [
  append,
  append,
  join,
  join,
  poll,
  poll,
  commit,
  commit,
  commitOfThePast,
  member.map(of => new Leave(of)),
  member.map(of => new Crash(of)),
  member.map(of => new CommitOfTheSilent(of)),
  fc.tuple(member, fc.array(offset, { minLength: 1, maxLength: 3 })).map(([of, offsets]) => {
    return new CommitOffsets(of, offsets)
  }),
  fc.constant(new EndOfSessions()),
  fc.constant(new DeleteTopic()),
]

/** The property: whatever happens, model and broker agree. */
export function groupHistories(assignors: readonly AssignorName[] = assignorNames) {
  return fc.property(
    fc.integer({ min: 1, max: 5 }),
    fc.constantFrom(...assignors),
    fc.commands(commands, { size: '+1', maxCommands: 60 }),
    (partitions, assignor, history) => {
      const topic = newTopic(partitions, assignor)
      const model: Model = { partitions, assignor, topic, live: new Set(), silent: new Set(), values: 0 }
      fc.modelRun(() => ({ model, real: new GroupWorld(partitions, assignor) }), history)
    },
  )
}
