import type { Api } from '../../src/protocol/dsl.ts'
import type { Prng } from '../../src/util/prng.ts'
import type { Json, JsonObject } from '../twin/json.ts'
import { fitVersion, type Step } from './sequence.ts'

/**
 * What the generator believes to exist, so that what it asks for is mostly of use, and its dice. It may be wrong: what a
 * broker makes of a request is not known here.
 */

export interface Topic {
  readonly name: string
  partitions: number
  /** About how many records each partition holds. */
  ends: number[]
  exists: boolean
  /** Variables of the ids it had, the oldest first. */
  ids: string[]
}

export interface Member {
  /** A variable, or empty while it has no id. */
  id: string
  on: string
  instance: string | null
  /** The variable of the generation it last joined. */
  generation: Json
  subscription: Json
}

export interface Group {
  readonly name: string
  readonly protocolType: string
  members: Member[]
}

export interface Producer {
  readonly id: string
  epoch: number
  /** The next sequence of each partition. */
  readonly sequences: Map<string, number>
}

export interface Session {
  readonly id: string
  epoch: number
  version: number
  partitions: string[]
}

export class World {
  readonly random: Prng
  readonly steps: Step[] = []
  readonly topics: Topic[] = []
  readonly groups: Group[] = []
  readonly producers: Producer[] = []
  readonly sessions: Session[] = []
  #counter = 0

  constructor(random: Prng) {
    this.random = random
  }

  /** A fresh number. */
  next(): number {
    return this.#counter++
  }

  chance(probability: number): boolean {
    return this.random.next() < probability
  }

  int(below: number): number {
    return Math.floor(this.random.next() * below)
  }

  pick<T>(...items: readonly T[]): T {
    return items[this.int(items.length)]
  }

  /** Mostly the first, else one of the others. */
  mostly<T>(first: T, ...others: readonly T[]): T {
    return this.chance(0.85) ? first : this.pick(...others)
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items]
    const result: T[] = []
    while (left.length > 0) result.push(...left.splice(this.int(left.length), 1))
    return result
  }

  /** A version of the API, from `min` on; the highest and the lowest more often than the others. */
  version(api: Api, min = 0, max = 99): number {
    const from = Math.max(min, api.versions[0])
    const to = Math.min(max, api.versions[1])
    const dice = this.random.next()
    if (dice < 0.35) return to
    return dice < 0.45 ? from : from + this.int(to - from + 1)
  }

  send(
    api: Api,
    version: number,
    body: JsonObject,
    options: { on?: string; bind?: Record<string, string>; all?: boolean } = {},
  ): void {
    const { on = this.pick('A', 'A', 'A', 'B', 'C'), all = false } = options
    // Any Fetch may open a session, wanted or not.
    const bind = options.bind ?? (api.name === 'Fetch' ? { sessionId: `session${this.next()}` } : {})
    const odd = this.chance(0.004) ? { cut: 1 + this.int(3) } : this.chance(0.004) ? { extra: 1 + this.int(4) } : {}
    this.steps.push({ kind: 'request', on, api, version, body: fitVersion(api, version, body), bind, ...odd, all })
  }

  /** A topic, mostly one that exists. */
  topic(): Topic {
    const existing = this.topics.filter(topic => topic.exists)
    if (existing.length > 0 && this.chance(0.93)) return this.pick(...existing)
    if (this.topics.length > 0 && this.chance(0.6)) return this.pick(...this.topics)
    return { name: '@missing', partitions: 1, ends: [0], exists: false, ids: [] }
  }

  /** A partition of the topic, mostly one that exists. */
  partition(topic: Topic): number {
    return this.chance(0.95) ? this.int(topic.partitions) : this.pick(topic.partitions, 7, -1)
  }

  /** An offset at, below or beyond the end. */
  offset(topic: Topic, partition: number): number {
    const end = topic.ends[partition] ?? 0
    return this.pick(0, end, end, this.int(end + 1), this.int(end + 1), Math.max(0, end - 1), end + 1, end + 5, -1)
  }

  addGroup(): Group {
    const group: Group = { name: `@g${this.next()}`, protocolType: this.mostly('consumer', 'connect'), members: [] }
    this.groups.push(group)
    return group
  }

  /** A group, mostly one that exists. */
  group(): Group {
    if (this.groups.length === 0 || this.chance(0.1)) return this.addGroup()
    return this.pick(...this.groups)
  }
}
