/**
 * Consumer groups on the broker, one call per act of a history. A member that crashes goes silent: its connections end, and
 * the group hears of it when its session is over. What members were told of themselves in earlier generations is kept, so that
 * histories can commit in their name.
 */

import {
  assignors,
  commitOffsets,
  committedOffsets,
  deleteTopics,
  GroupConsumer,
  type KafkaClient,
  Producer,
  type Result,
} from '../../src/client/index.ts'
import type { AssignorName } from '../../src/model/assign.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { World } from './world.ts'

export const TOPIC = 'orders'
const SESSION_TIMEOUT_MS = 60_000

/** A member as it was in one generation. */
export interface Incarnation {
  group: string
  name: string
  memberId: string
  generation: number
  partitions: number[]
}

interface Member {
  name: string
  client: KafkaClient
  consumer: GroupConsumer
}

export interface Polled {
  partition: number
  offset: number
  key: string | null
  value: string
}

/** The names of errors that the model calls NotAssignedError. */
export const FENCED = ['ILLEGAL_GENERATION', 'UNKNOWN_MEMBER_ID', 'REBALANCE_IN_PROGRESS']

export class GroupWorld {
  readonly world: World
  readonly #partitions: number
  readonly #assignor: AssignorName
  readonly #producer: Producer
  readonly #members = new Map<string, Map<string, Member>>()
  readonly #incarnations: Incarnation[] = []

  constructor(partitions: number, assignor: AssignorName) {
    this.world = new World([{ name: TOPIC, partitions }])
    this.#partitions = partitions
    this.#assignor = assignor
    this.#producer = new Producer(this.world.client)
  }

  /** Appends by our producer; with `loseAnswerAfter` an answer gets lost on the way, and the producer sends again. */
  append(key: string | null, value: string, partition?: number, loseAnswerAfter?: number): [number, number] {
    const record = { topic: TOPIC, partition, key: key === null ? null : utf8Encode(key), value: utf8Encode(value) }
    this.world.transport.loseAnswerAfter(loseAnswerAfter)
    const sent = this.world.good(this.#producer.send(record))
    this.world.transport.loseAnswerAfter(undefined)
    return [sent.partition, sent.offset]
  }

  endOffset(partition: number): number {
    return this.world.bounds(TOPIC, partition).end
  }

  #membersOf(group: string): Map<string, Member> {
    const known = this.#members.get(group) ?? new Map<string, Member>()
    this.#members.set(group, known)
    return known
  }

  join(group: string, name: string): void {
    // The broker makes member ids of client ids, and the assignors go by member ids: members stand in the order of their names.
    const client = this.world.connect({ clientId: name })
    const consumer = new GroupConsumer(client, {
      groupId: group,
      topics: [TOPIC],
      autoOffsetReset: 'earliest',
      assignors: assignors.filter(each => each.name === this.#assignor),
      sessionTimeoutMs: SESSION_TIMEOUT_MS,
      maxPollRecords: 1,
      maxWaitMs: 10,
    })
    this.#membersOf(group).set(name, { name, client, consumer })
  }

  leave(group: string, name: string): void {
    const { client, consumer } = this.#take(group, name)
    this.world.good(consumer.close())
    client.close()
  }

  crash(group: string, name: string): void {
    this.#take(group, name).client.close()
  }

  #take(group: string, name: string): Member {
    const member = this.#membersOf(group).get(name)!
    this.#membersOf(group).delete(name)
    return member
  }

  endSessions(): void {
    this.world.env.advance(SESSION_TIMEOUT_MS)
  }

  /** Waits until all members are in a generation later than any before, and have all partitions among them. */
  settle(group: string): void {
    const members = [...this.#membersOf(group).values()]
    if (members.length === 0) return this.world.env.settle()
    const before = Math.max(-1, ...this.#incarnations.filter(each => each.group === group).map(each => each.generation))
    const isSettled = () =>
      members.every(({ consumer: { member, consumer } }) => {
        const { status, generation, owned } = member
        return (
          status === 'stable' &&
          generation > before &&
          generation === members[0].consumer.member.generation &&
          consumer.assignment.length === owned.length
        )
      }) && members.reduce((sum, { consumer }) => sum + consumer.member.owned.length, 0) === this.#partitions
    if (!this.world.until(isSettled)) {
      const told = members.map(({ name, consumer: { member } }) => `${name} ${member.status} ${member.generation}`)
      throw new Error(`group ${group} did not settle: ${told.join(', ')}`)
    }
    for (const { name, consumer } of members) {
      // A client looks for its positions when it polls, and commits none that it does not know; the model always has them.
      for (const each of consumer.consumer.assignment) this.world.good(consumer.consumer.position(each))
      const { memberId, generation } = consumer.member
      this.#incarnations.push({ group, name, memberId, generation, partitions: this.assignment(group, name) })
    }
  }

  assignment(group: string, name: string): number[] {
    const owned = this.#members.get(group)?.get(name)?.consumer.member.owned ?? []
    return owned.map(({ partition }) => partition).sort((a, b) => a - b)
  }

  /** As the model polls: the lowest partition first, each until there is nothing more or `max` is reached. */
  poll(group: string, name: string, max: number): Polled[] {
    const { consumer } = this.#membersOf(group).get(name)!.consumer
    const partitions = this.assignment(group, name)
    const records: Polled[] = []
    for (const partition of partitions) {
      if (records.length >= max) break
      const place = { topic: TOPIC, partition }
      for (const other of partitions) if (other !== partition) consumer.pause({ topic: TOPIC, partition: other })
      consumer.resume(place)
      const end = this.endOffset(partition)
      for (let empty = 0; records.length < max && consumer.positionNow(place)?.offset !== end; ) {
        const polled = this.world.good(consumer.poll(100))
        for (const { offset, key, value } of polled) {
          records.push({ partition, offset, key: key && utf8Decode(key), value: utf8Decode(value!) })
        }
        empty = polled.length > 0 ? 0 : empty + 1
        if (empty > 20) throw new Error(`${name} reads nothing more of partition ${partition}, which ends at ${end}`)
      }
    }
    return records
  }

  /** The error's name, or NONE. */
  commit(group: string, name: string, offsets?: ReadonlyMap<number, number>): string {
    const { consumer } = this.#membersOf(group).get(name)!
    return this.#told(this.world.wait(consumer.commit(offsets && toCommit(offsets))))
  }

  /** The same in the name of a member as it was once. */
  commitAs({ group, memberId, generation }: Incarnation, offsets: ReadonlyMap<number, number>): string {
    const { client } = this.world
    const member = { memberId, generation, groupInstanceId: null, lane: 'commit' }
    return this.#told(this.world.wait(client.run(commitOffsets(client, group, toCommit(offsets), member))))
  }

  #told(result: Result<void>): string {
    return result.ok ? 'NONE' : result.error.code
  }

  /** All that members ever were; the last of each name is the present one if it is a member still. */
  get incarnations(): readonly Incarnation[] {
    return this.#incarnations
  }

  /** By partition. As long as a client can ask by name it sees also what was committed for a topic that is gone. */
  committed(group: string): Map<number, number> {
    const client = this.world.connect({ maxVersions: { OffsetFetch: 9 } })
    const found = this.world.good(client.run(committedOffsets(client, group, null)))
    client.close()
    return new Map([...found].map(([key, { offset }]) => [Number(key.slice(TOPIC.length + 1)), offset]))
  }

  deleteTopic(): void {
    const deleted = this.world.good(deleteTopics(this.world.client, [TOPIC])).get(TOPIC)!
    if (!deleted.ok) throw deleted.error
  }

  createTopic(): void {
    this.world.createTopics([{ name: TOPIC, partitions: this.#partitions }])
  }
}

function toCommit(offsets: ReadonlyMap<number, number>) {
  return [...offsets].map(([partition, offset]) => ({ topic: TOPIC, partition, offset }))
}
