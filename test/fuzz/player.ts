import { deleteTopics } from '../../src/protocol/apis/delete-topics.ts'
import { describeConfigs } from '../../src/protocol/apis/describe-configs.ts'
import { listOffsets } from '../../src/protocol/apis/list-offsets.ts'
import { metadata } from '../../src/protocol/apis/metadata.ts'
import { offsetFetch } from '../../src/protocol/apis/offset-fetch.ts'
import type { Api } from '../../src/protocol/dsl.ts'
import { isObject, type Json, type JsonObject, textOf } from '../twin/json.ts'
import { compareSides, type Difference } from './compare.ts'
import { changesMetadata, type Request, type Step } from './sequence.ts'
import { type Address, Side } from './side.ts'

/**
 * Plays a sequence to both brokers, step by step and side by side. A request that neither answers is taken to be parked, and
 * the sequence goes on on other connections; no comparison depends on how long something took.
 */

/** How long an answer may be late before the request counts as parked, when the other side is parked as well. */
const PARKED_MS = 80
/** How long one side may be behind the other. */
const LATE_MS = 3000
/** What other connections get a moment for after each step, when requests are parked. */
const STRAGGLERS_MS = 15
const TICK_MS = 2

export interface Played {
  readonly difference: Difference | undefined
  /** The steps that were sent: those on a connection that waits are left out. */
  readonly steps: Step[]
}

export async function play(steps: readonly Step[], kafka: Address, ottla: Address): Promise<Played> {
  const suffix = Math.random()
  const now = Date.now()
  const player = new Player(new Side('Kafka', kafka, suffix, now), new Side('Ottla', ottla, suffix, now))
  try {
    return await player.play(steps)
  } finally {
    await player.close()
  }
}

class Player {
  readonly #kafka: Side
  readonly #ottla: Side
  readonly #sides: readonly Side[]
  readonly #topics = new Set<string>()
  /** Groups that have committed. */
  readonly #groups = new Set<string>()

  constructor(kafka: Side, ottla: Side) {
    this.#kafka = kafka
    this.#ottla = ottla
    this.#sides = [kafka, ottla]
  }

  async play(given: readonly Step[]): Promise<Played> {
    const steps: Step[] = []
    for (const step of given) {
      if (step.kind === 'disconnect') {
        steps.push(step)
        for (const side of this.#sides) side.disconnect(step.on)
        await this.#level(steps.length - 1)
        continue
      }
      if (this.#sides.some(side => side.blocked(step.on))) continue
      const index = steps.push(step) - 1
      await Promise.all(this.#sides.map(side => side.send(index, step)))
      await this.#settle(index, step)
      if (this.#uneven(index)) break
      if (step.api.name === 'OffsetCommit') this.#groups.add(textOf(step.body.groupId))
      if (changesMetadata(step)) await this.#agree(step)
    }
    return { steps, difference: compareSides(steps, this.#kafka, this.#ottla) }
  }

  /** Takes the topics away again: Kafka maps two files per partition into memory, and the kernel lets it have so many. */
  async close(): Promise<void> {
    const topicNames = [...this.#topics]
    if (topicNames.length > 0) {
      await Promise.all(this.#sides.map(side => side.ask(deleteTopics, 5, { topicNames }).catch(() => {})))
    }
    for (const side of this.#sides) side.close()
  }

  /** Waits until both have answered, or neither is going to. */
  async #settle(index: number, step: Request): Promise<void> {
    const began = Date.now()
    for (;;) {
      const waiting = this.#sides.filter(side => side.answers.get(index)?.state === 'waiting').length
      if (waiting === 0) break
      if (Date.now() - began > (waiting === 1 ? LATE_MS : PARKED_MS)) break
      await sleep(TICK_MS)
    }
    // A group that is empty then, or has one member, goes on by a timer of 0 ms.
    if (step.api.name === 'LeaveGroup' || step.api.name === 'JoinGroup') await sleep(STRAGGLERS_MS)
    await this.#level(index)
  }

  /** Waits until what one side answered of the parked requests is answered by the other. */
  async #level(last: number): Promise<void> {
    const parked = range(last).some(index => this.#sides.some(side => side.answers.get(index)?.state === 'waiting'))
    if (!parked) return
    const began = Date.now()
    await sleep(STRAGGLERS_MS)
    while (this.#uneven(last) && Date.now() - began < LATE_MS) await sleep(TICK_MS)
  }

  #uneven(last: number): boolean {
    return range(last).some(index => {
      const [a, b] = this.#sides.map(side => side.answers.get(index)?.state)
      return a !== b && (a === 'waiting' || b === 'waiting')
    })
  }

  /** After a change of metadata: waits until both brokers tell the same of the topics and resources named in it. */
  async #agree(step: Request): Promise<void> {
    for (const name of topicNames(step.body)) this.#topics.add(name)
    const topics = [...this.#topics]
    if (topics.length > 0) {
      await this.#same(metadata, 12, { topics: topics.map(name => ({ name })), allowAutoTopicCreation: false })
      const partitions = topics.flatMap(name => [`${name}/0`, `${name}/1`, `${name}/2`, `${name}/3`])
      const asked = Object.fromEntries(partitions.map(partition => [partition, { timestamp: -1 }]))
      await this.#same(listOffsets, 6, asked)
    }
    // Kafka takes its time to forget what was committed for a topic that is gone.
    if (step.api.name === 'DeleteTopics') {
      for (const groupId of this.#groups) await this.#same(offsetFetch, 7, { groupId, topics: null })
    }
    const { resources } = step.body
    if (Array.isArray(resources)) {
      const asked = resources.map(item => {
        const { resourceType, resourceName } = item as JsonObject
        return { resourceType, resourceName, configurationKeys: null }
      })
      await this.#same(describeConfigs, 1, { resources: asked.filter(({ resourceType }) => resourceType !== 4) })
    }
    await sleep(25)
  }

  async #same(api: Api, version: number, body: JsonObject): Promise<void> {
    const began = Date.now()
    while (Date.now() - began < LATE_MS) {
      const [a, b] = await Promise.all(this.#sides.map(side => side.ask(api, version, body)))
      if (comparable(a) === comparable(b)) return
      await sleep(10)
    }
  }
}

/** Names of topics anywhere in a body of CreateTopics, DeleteTopics, CreatePartitions or Metadata. */
function topicNames(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(topicNames)
  if (!isObject(value)) return typeof value === 'string' && /^@(t\d+(\.x)?|missing)$/.test(value) ? [value] : []
  return Object.values(value).flatMap(topicNames)
}

/** An answer as text, without what each broker has its own of. */
function comparable(answer: JsonObject): string {
  const own = new Set(['topicId', 'brokers', 'clusterId', 'errorMessage'])
  return JSON.stringify(sorted(answer), (name, value) => (own.has(name) ? undefined : value))
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.keys(value)
      .filter(name => name !== 'topicId')
      .sort()
      .map(name => [name, sorted(value[name])]),
  )
}

function range(last: number): number[] {
  return Array.from({ length: last + 1 }, (_, index) => index)
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
