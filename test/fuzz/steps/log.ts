import { deleteRecords } from '../../../src/protocol/apis/delete-records.ts'
import { describeProducers } from '../../../src/protocol/apis/describe-producers.ts'
import { fetch } from '../../../src/protocol/apis/fetch.ts'
import { initProducerId } from '../../../src/protocol/apis/init-producer-id.ts'
import { listOffsets } from '../../../src/protocol/apis/list-offsets.ts'
import { offsetForLeaderEpoch } from '../../../src/protocol/apis/offset-for-leader-epoch.ts'
import { produce } from '../../../src/protocol/apis/produce.ts'
import type { Json, JsonObject } from '../../twin/json.ts'
import type { Producer, Topic, World } from '../world.ts'
import { records } from './records.ts'

/** Steps about the logs of partitions: Produce, producers, ListOffsets, DeleteRecords, epochs. Fetch stands in fetch.ts. */

export function produceSome(world: World): void {
  const topic = world.topic()
  const version = world.version(produce)
  const partitions = world.chance(0.85) ? [world.partition(topic)] : [world.partition(topic), world.partition(topic)]
  const body: JsonObject = { acks: acks(world) }
  for (const partition of partitions) {
    const { count, value } = records(world)
    body[`${topic.name}/${partition}`] = { records: value }
    grow(topic, partition, count)
  }
  world.send(produce, version, body)
}

/** Mostly "all"; a wrong number now and then. */
function acks(world: World): number {
  const dice = world.random.next()
  return dice < 0.8 ? -1 : dice < 0.95 ? 1 : dice < 0.98 ? 0 : world.pick(2, -2)
}

function grow(topic: Topic, partition: number, count: number): void {
  if (partition >= 0 && partition < topic.partitions) topic.ends[partition] += count
}

export function initProducer(world: World): void {
  const id = `pid${world.next()}`
  const old = world.chance(0.2) && world.producers.length > 0 ? world.pick(...world.producers) : undefined
  const body: JsonObject = {
    transactionalId: null,
    ...(old !== undefined && { producerId: old.id, producerEpoch: world.pick(old.epoch, old.epoch + 1, -1) }),
    ...(world.chance(0.05) && { transactionTimeoutMs: world.pick(0, -1, 2147483647) }),
  }
  world.send(initProducerId, world.version(initProducerId, old === undefined ? 0 : 3), body, {
    bind: { producerId: id },
  })
  world.producers.push({ id: `$${id}`, epoch: 0, sequences: new Map() })
}

export function produceIdempotent(world: World): void {
  if (world.producers.length === 0) initProducer(world)
  const producer = world.pick(...world.producers)
  const topic = world.topic()
  const partition = world.partition(topic)
  const name = `${topic.name}/${partition}`
  const next = producer.sequences.get(name) ?? 0
  const { epoch, sequence, good } = place(world, producer, next)
  const { count, value } = records(world, { producerId: producer.id, producerEpoch: epoch, baseSequence: sequence })
  if (good) {
    producer.epoch = epoch
    producer.sequences.set(name, (sequence + count) % 0x80000000)
    grow(topic, partition, count)
  }
  world.send(produce, world.version(produce), { acks: -1, [name]: { records: value } })
}

/** Where the batch stands: mostly the next place, else before it, behind it, or under another epoch. */
function place(world: World, producer: Producer, next: number): { epoch: number; sequence: number; good: boolean } {
  const { epoch } = producer
  const dice = world.random.next()
  if (dice < 0.6) return { epoch, sequence: next, good: true }
  if (dice < 0.75) return { epoch, sequence: Math.max(0, next - 1 - world.int(3)), good: false }
  if (dice < 0.82) return { epoch, sequence: next + 1 + world.int(3), good: false }
  if (dice < 0.88) return { epoch: epoch + 1, sequence: 0, good: true }
  if (dice < 0.92) return { epoch: epoch + 1, sequence: world.pick(1, next), good: false }
  if (dice < 0.96) return { epoch: Math.max(0, epoch - 1), sequence: next, good: false }
  return { epoch, sequence: 0x7fffffff, good: true }
}

export function listSomeOffsets(world: World): void {
  const topic = world.topic()
  const version = world.version(listOffsets)
  const body: JsonObject = { replicaId: world.mostly(-1, -2, 5), isolationLevel: world.mostly(0, 1) }
  for (let count = 1 + world.int(2); count > 0; count--) {
    body[`${topic.name}/${world.partition(topic)}`] = {
      timestamp: world.pick<Json>(-1, -1, -2, -3, -3, -4, -5, -7, 0, `now+${world.int(4)}`, `now-${world.int(900)}`),
      currentLeaderEpoch: epoch(world),
    }
  }
  world.send(listOffsets, version, body)
}

/** Mostly none, else the current epoch or one that is wrong. */
export function epoch(world: World): number {
  return world.chance(0.7) ? -1 : world.mostly(0, 1, 5, -2)
}

export function deleteSomeRecords(world: World): void {
  const topic = world.topic()
  const body: JsonObject = {}
  for (let count = world.chance(0.8) ? 1 : 2; count > 0; count--) {
    const partition = world.partition(topic)
    body[`${topic.name}/${partition}`] = { offset: world.pick(world.offset(topic, partition), -1, -2) }
  }
  world.send(deleteRecords, world.version(deleteRecords), body)
}

export function askLeaderEpoch(world: World): void {
  const topic = world.topic()
  const partition = { leaderEpoch: world.pick(0, 0, 1, 5, -1), currentLeaderEpoch: epoch(world) }
  const body: JsonObject = { replicaId: world.mostly(-1, -2), [`${topic.name}/${world.partition(topic)}`]: partition }
  world.send(offsetForLeaderEpoch, world.version(offsetForLeaderEpoch), body)
}

export function describeSomeProducers(world: World): void {
  const topic = world.topic()
  world.send(describeProducers, 0, { topics: [{ name: topic.name, partitionIndexes: [world.partition(topic)] }] })
}

/** The log of a partition from its start, to see what became of it. */
export function readAll(world: World, topic: Topic): void {
  const body: JsonObject = { sessionEpoch: -1 }
  for (let partition = 0; partition < topic.partitions; partition++)
    body[`${topic.name}/${partition}`] = { fetchOffset: 0 }
  world.send(fetch, 12, body, { on: 'A' })
}
