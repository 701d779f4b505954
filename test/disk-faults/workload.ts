/**
 * What a broker is asked for, step by step, and what it acknowledged of that. A step says why it was refused, and may be tried again. What
 * was acknowledged can be held against what a broker has later.
 */

import { createTopics } from '../../src/protocol/apis/create-topics.ts'
import { deleteRecords } from '../../src/protocol/apis/delete-records.ts'
import { deleteTopics } from '../../src/protocol/apis/delete-topics.ts'
import { describeConfigs } from '../../src/protocol/apis/describe-configs.ts'
import { fetch } from '../../src/protocol/apis/fetch.ts'
import { findCoordinator } from '../../src/protocol/apis/find-coordinator.ts'
import { incrementalAlterConfigs } from '../../src/protocol/apis/incremental-alter-configs.ts'
import { initProducerId } from '../../src/protocol/apis/init-producer-id.ts'
import { listOffsets } from '../../src/protocol/apis/list-offsets.ts'
import { metadata } from '../../src/protocol/apis/metadata.ts'
import { offsetCommit } from '../../src/protocol/apis/offset-commit.ts'
import { offsetFetch } from '../../src/protocol/apis/offset-fetch.ts'
import { produce } from '../../src/protocol/apis/produce.ts'
import { errorName } from '../../src/protocol/errors.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { eachBatch } from '../../src/records/batch-header.ts'
import { readRecords } from '../../src/records/batch-reader.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { platform } from '../broker/harness.ts'
import type { Place } from './place.ts'

/** NONE, or why not. */
export type Outcome = string
export type Step = readonly [name: string, run: (place: Place) => Outcome]

const UNANSWERED = 'UNANSWERED'
const SET = 0

export class Workload {
  /** What is acknowledged to be there, or not any more. */
  readonly #topics = new Map<string, boolean>()
  readonly #records = new Map<string, Map<number, string>>()
  /** Of a compacted topic: what was sent for each key, and the last of it that was acknowledged. */
  readonly #keys = new Map<string, { sent: string[]; acknowledged: number }>()
  #committed: { sent: number[]; acknowledged: number } = { sent: [], acknowledged: -1 }
  readonly #producer = { id: -1, sequence: 0, isOutOfOrder: false }
  #deletedBefore = 0
  #config: string | undefined
  #count = 0

  readonly steps: readonly Step[] = [
    ['start', place => this.#start(place)],
    ['create a', place => this.#create(place, 'a', { 'retention.bytes': '700', 'file.delete.delay.ms': '1000' })],
    ['create b', place => this.#create(place, 'b')],
    ['create c', place => this.#create(place, 'c', { 'cleanup.policy': 'compact', 'min.cleanable.dirty.ratio': '0' })],
    ['create d', place => this.#create(place, 'd')],
    ['create e', place => this.#create(place, 'e')],
    ['get a producer id', place => this.#initProducer(place)],
    ...this.#times(5, index => [`produce ${index} to a`, place => this.#produce(place, 'a')]),
    ...this.#times(4, index => [`produce ${index} to b`, place => this.#produce(place, 'b')]),
    ...this.#times(5, index => [`produce ${index} to c`, place => this.#produceKey(place, `k${index % 2}`)]),
    ...this.#times(3, index => [`produce ${index} to e once`, place => this.#produceOnce(place)]),
    ['produce to d', place => this.#produce(place, 'd')],
    ['find the coordinator', place => this.#findCoordinator(place)],
    ['commit', place => this.#commit(place)],
    ['delete records', place => this.#deleteRecords(place, 2)],
    ['configure', place => this.#configure(place, '123456')],
    ['wait for retention, cleaning and checkpoints', place => this.#wait(place, 130_000)],
    ['delete d', place => this.#delete(place, 'd')],
    ['commit again', place => this.#commit(place)],
    ['stop', place => this.#stop(place)],
    ['start after a good stop', place => this.#start(place)],
    ['produce to b after a good stop', place => this.#produce(place, 'b')],
    ['produce to e once after a good stop', place => this.#produceOnce(place)],
    ['produce to c after a good stop', place => this.#produceKey(place, 'k0')],
    ['kill', place => this.#kill(place)],
    ['start after a kill', place => this.#start(place)],
    ['produce to e once after a kill', place => this.#produceOnce(place)],
    ['produce to b after a kill', place => this.#produce(place, 'b')],
    ['commit after a kill', place => this.#commit(place)],
  ]

  #times(count: number, step: (index: number) => Step): Step[] {
    return Array.from({ length: count }, (_, index) => step(index))
  }

  #start(place: Place): Outcome {
    if (place.isUp || place.start()) return 'NONE'
    return place.refusal ?? 'refused'
  }

  #stop(place: Place): Outcome {
    place.stop()
    return 'NONE'
  }

  #kill(place: Place): Outcome {
    place.kill()
    return 'NONE'
  }

  #wait(place: Place, ms: number): Outcome {
    place.wait(ms)
    return 'NONE'
  }

  #create(place: Place, name: string, configs: Record<string, string> = {}): Outcome {
    const all = { 'internal.segment.bytes': '400', 'index.interval.bytes': '0', ...configs }
    const answer = place.ask(createTopics, 7, {
      topics: [
        {
          name,
          numPartitions: 1,
          replicationFactor: 1,
          configs: Object.entries(all).map(([key, value]) => ({ name: key, value })),
        },
      ],
      timeoutMs: 10_000,
    })
    const error = errorOf(answer?.topics[0].errorCode)
    if (error === 'NONE') this.#topics.set(name, true)
    // An attempt before may have come to its end after all.
    if (error === 'TOPIC_ALREADY_EXISTS') this.#topics.set(name, true)
    return error === 'TOPIC_ALREADY_EXISTS' ? 'NONE' : error
  }

  #delete(place: Place, name: string): Outcome {
    const answer = place.ask(deleteTopics, 5, { topicNames: [name], timeoutMs: 10_000 })
    const error = errorOf(answer?.responses[0].errorCode)
    // From the moment on in which it was asked for, nobody can say.
    this.#topics.delete(name)
    this.#records.delete(name)
    if (error === 'NONE' || error === 'UNKNOWN_TOPIC_OR_PARTITION') this.#topics.set(name, false)
    return error === 'UNKNOWN_TOPIC_OR_PARTITION' ? 'NONE' : error
  }

  #send(
    place: Place,
    topic: string,
    key: string | null,
    value: string,
    producer: { producerId?: number; producerEpoch?: number; baseSequence?: number } = {},
  ): { error: Outcome; offset: number } {
    const records = buildBatch({
      records: [{ key: key === null ? null : utf8Encode(key), value: utf8Encode(value), timestamp: place.env.now() }],
      crc32c: platform.crc32c,
      ...producer,
    })
    const answer = place.ask(produce, 9, {
      acks: -1,
      timeoutMs: 10_000,
      topicData: [{ name: topic, partitionData: [{ index: 0, records }] }],
    })
    const told = answer?.responses[0].partitionResponses[0]
    return { error: errorOf(told?.errorCode), offset: told?.baseOffset ?? -1 }
  }

  #produce(place: Place, topic: string): Outcome {
    const value = `${this.#count++}:${'x'.repeat(150)}`
    const { error, offset } = this.#send(place, topic, null, value)
    if (error !== 'NONE') return error
    const records = this.#records.get(topic) ?? new Map<number, string>()
    this.#records.set(topic, records.set(offset, value))
    return error
  }

  #produceKey(place: Place, key: string): Outcome {
    const value = `${this.#count++}:${'y'.repeat(150)}`
    const known = this.#keys.get(key) ?? { sent: [], acknowledged: -1 }
    this.#keys.set(key, known)
    known.sent.push(value)
    const { error } = this.#send(place, 'c', key, value)
    if (error === 'NONE') known.acknowledged = known.sent.length - 1
    return error
  }

  #initProducer(place: Place): Outcome {
    const answer = place.ask(initProducerId, 4, { transactionalId: null, transactionTimeoutMs: 60_000 })
    const error = errorOf(answer?.errorCode)
    if (answer !== undefined && error === 'NONE') this.#producer.id = answer.producerId
    return error
  }

  /** Goes on with the same record until it is acknowledged. */
  #produceOnce(place: Place): Outcome {
    const { id: producerId, sequence: baseSequence } = this.#producer
    const value = `once ${baseSequence}`
    const { error } = this.#send(place, 'e', null, value, { producerId, producerEpoch: 0, baseSequence })
    if (error === 'NONE') this.#producer.sequence++
    if (error === 'OUT_OF_ORDER_SEQUENCE_NUMBER') this.#producer.isOutOfOrder = true
    return error
  }

  #findCoordinator(place: Place): Outcome {
    const ask = () => {
      const answer = place.ask(findCoordinator, 4, { keyType: 0, coordinatorKeys: ['g'] })
      return errorOf(answer?.coordinators[0].errorCode)
    }
    const error = ask()
    if (error !== 'COORDINATOR_NOT_AVAILABLE') return error
    // Who asks first has the topic made.
    place.wait(500)
    return ask()
  }

  #commit(place: Place): Outcome {
    const committedOffset = this.#count++
    this.#committed.sent.push(committedOffset)
    const answer = place.ask(offsetCommit, 8, {
      groupId: 'g',
      topics: [{ name: 'b', partitions: [{ partitionIndex: 0, committedOffset, committedMetadata: '' }] }],
    })
    const error = errorOf(answer?.topics[0].partitions[0].errorCode)
    if (error === 'NONE') this.#committed.acknowledged = this.#committed.sent.length - 1
    return error
  }

  #deleteRecords(place: Place, offset: number): Outcome {
    const topics = [{ name: 'b', partitions: [{ partitionIndex: 0, offset }] }]
    const answer = place.ask(deleteRecords, 2, { topics, timeoutMs: 10_000 })
    const error = errorOf(answer?.topics[0].partitions[0].errorCode)
    if (error === 'NONE') this.#deletedBefore = offset
    return error
  }

  #configure(place: Place, value: string): Outcome {
    const configs = [{ name: 'max.message.bytes', configOperation: SET, value }]
    const resources = [{ resourceType: 2, resourceName: 'b', configs }]
    const answer = place.ask(incrementalAlterConfigs, 1, { resources, validateOnly: false })
    const error = errorOf(answer?.responses[0].errorCode)
    if (error === 'NONE') this.#config = value
    return error
  }

  /** What of all that was acknowledged is not so; and whether everything can be asked for that a broker is for. */
  problems(place: Place): string[] {
    return [...this.#lost(place), ...this.#refused(place)]
  }

  #lost(place: Place): string[] {
    const problems: string[] = []
    const known = place.ask(metadata, 12, { topics: null })?.topics.map(topic => topic.name)
    for (const [name, isThere] of this.#topics) {
      if (known?.includes(name) !== isThere) problems.push(`topic ${name} is ${isThere ? 'lost' : 'there again'}`)
    }
    for (const [topic, records] of this.#records) problems.push(...this.#lostOf(place, topic, records))
    if (this.#producer.sequence > 0) problems.push(...this.#lostOrTwice(place))
    if (this.#keys.size > 0) problems.push(...this.#lostKeys(place))
    const { sent, acknowledged } = this.#committed
    if (acknowledged >= 0) {
      const groups = [{ groupId: 'g', topics: [{ name: 'b', partitionIndexes: [0] }] }]
      const [group] = place.ask(offsetFetch, 8, { groups, requireStable: false })?.groups ?? []
      const offset = group?.topics[0]?.partitions[0].committedOffset ?? -2
      if (sent.indexOf(offset) < acknowledged) problems.push(`committed is ${offset}, and was ${sent[acknowledged]}`)
    }
    if (this.#config !== undefined) {
      const resources = [{ resourceType: 2, resourceName: 'b', configurationKeys: ['max.message.bytes'] }]
      const found = place.ask(describeConfigs, 4, { resources })?.results[0].configs[0]?.value
      if (found !== this.#config) problems.push(`max.message.bytes is ${found}`)
    }
    return problems
  }

  #lostOf(place: Place, topic: string, records: Map<number, string>): string[] {
    const found = read(place, topic)
    if (typeof found === 'string') return [`${topic} cannot be read: ${found}`]
    const { start, values } = found
    const problems: string[] = []
    if (topic === 'b' && start < this.#deletedBefore) problems.push(`b begins at ${start} again`)
    const retained = topic === 'a' ? start : topic === 'b' ? Math.max(start, this.#deletedBefore) : 0
    if (topic === 'b' && start > this.#deletedBefore && start > 2) problems.push(`b begins at ${start}`)
    for (const [offset, value] of records) {
      if (offset >= retained && values.get(offset)?.value !== value) problems.push(`${topic} has lost offset ${offset}`)
    }
    return problems
  }

  /** What an idempotent producer sent is there once, in order; of the last, which may be under way, nobody can say. */
  #lostOrTwice(place: Place): string[] {
    const found = read(place, 'e')
    if (typeof found === 'string') return [`e cannot be read: ${found}`]
    const sent = [...found.values.values()].map(({ value }) => value)
    const { sequence, isOutOfOrder } = this.#producer
    const wanted = Array.from({ length: Math.max(sequence, sent.length) }, (_, index) => `once ${index}`)
    if (isOutOfOrder) return ['a producer to e was told that it is out of order']
    return sent.length <= sequence + 1 && String(sent) === String(wanted) ? [] : [`e has ${sent}, and not ${wanted}`]
  }

  #lostKeys(place: Place): string[] {
    const found = read(place, 'c')
    if (typeof found === 'string') return [`c cannot be read: ${found}`]
    const latest = new Map([...found.values.values()].map(({ key, value }) => [key, value]))
    const lost = [...this.#keys].filter(
      ([key, { sent, acknowledged }]) => acknowledged >= 0 && sent.indexOf(latest.get(key) ?? '') < acknowledged,
    )
    return lost.map(([key]) => `c has lost the last value of ${key}`)
  }

  #refused(place: Place): string[] {
    const steps: Step[] = [
      ['create a topic', () => this.#create(place, `new-${this.#count++}`)],
      ['produce to a', () => this.#produce(place, 'a')],
      ['produce to b', () => this.#produce(place, 'b')],
      ['produce to e', () => this.#produceOnce(place)],
      ['produce to c', () => this.#produceKey(place, 'k1')],
      ['commit', () => this.#findCoordinator(place) && this.#commit(place)],
    ]
    return steps.flatMap(([name, run]) => {
      const outcome = run(place)
      return outcome === 'NONE' ? [] : [`cannot ${name}: ${outcome}`]
    })
  }
}

function errorOf(code: number | undefined): Outcome {
  return code === undefined ? UNANSWERED : errorName(code)
}

/** Everything in the only partition of a topic, or why it cannot be had. */
function read(place: Place, topic: string) {
  const listed = place.ask(listOffsets, 6, {
    replicaId: -1,
    topics: [{ name: topic, partitions: [{ partitionIndex: 0, timestamp: -2 }] }],
  })?.topics[0].partitions[0]
  if (listed?.errorCode !== 0) return errorOf(listed?.errorCode)
  const values = new Map<number, { key: string; value: string }>()
  for (let next = listed.offset; ; ) {
    // After a kill it has to be flushed again before a reader may see it: it waits.
    const partitions = [{ partition: 0, fetchOffset: next, partitionMaxBytes: 1e6 }]
    const topics = [{ topic, partitions }]
    const found = place.ask(fetch, 12, { maxWaitMs: 300, minBytes: 1, topics })?.responses[0].partitions[0]
    if (found?.errorCode !== 0) return errorOf(found?.errorCode)
    const before = next
    const bytes = (found.records ?? new Uint8Array()) as Uint8Array
    eachBatch(bytes, at => {
      for (const { offset, key, value } of readRecords(bytes, at, platform)) {
        values.set(offset, { key: utf8Decode(key ?? new Uint8Array()), value: utf8Decode(value ?? new Uint8Array()) })
        next = Math.max(next, offset + 1)
      }
    })
    if (next === before) return { start: listed.offset, values }
  }
}
