import { createPartitions } from '../../../src/protocol/apis/create-partitions.ts'
import { createTopics } from '../../../src/protocol/apis/create-topics.ts'
import { deleteTopics } from '../../../src/protocol/apis/delete-topics.ts'
import { describeCluster } from '../../../src/protocol/apis/describe-cluster.ts'
import { describeLogDirs } from '../../../src/protocol/apis/describe-log-dirs.ts'
import { describeTopicPartitions } from '../../../src/protocol/apis/describe-topic-partitions.ts'
import { metadata } from '../../../src/protocol/apis/metadata.ts'
import type { Json, JsonObject } from '../../twin/json.ts'
import type { Topic, World } from '../world.ts'
import { topicConfigs } from './configs.ts'

/** Steps about topics: made, deleted, made again, grown, described. */

/** Makes a topic, or makes one again, so that it can be used. */
export function createTopic(world: World): void {
  const gone = world.topics.filter(({ exists }) => !exists)
  const again = gone.length > 0 && world.chance(0.6) ? world.pick(...gone) : undefined
  const topic: Topic = again ?? { name: `@t${world.next()}`, partitions: 0, ends: [], exists: true, ids: [] }
  const id = `tid${world.next()}`
  topic.partitions = world.mostly(1 + world.int(3), 4)
  topic.ends = Array.from({ length: topic.partitions }, () => 0)
  topic.exists = true
  topic.ids.push(id)
  if (again === undefined) world.topics.push(topic)
  const configs = world.chance(0.4) ? topicConfigs(world) : []
  const { name, partitions } = topic
  const body = { topics: [{ name, numPartitions: partitions, replicationFactor: world.pick(1, -1), configs }] }
  world.send(createTopics, 7, body as JsonObject, { on: 'A', bind: { 'topics.0.topicId': id } })
}

/** CreateTopics that asks for something odd. */
export function createOddly(world: World): void {
  const name = world.chance(0.5) ? `@t${world.next()}` : world.topic().name
  const numPartitions = world.mostly(1, 0, -1, -2, 3)
  const item: JsonObject = { name, numPartitions, replicationFactor: world.mostly(1, 0, -1, 2, -2) }
  const odd = world.int(7)
  if (odd === 0) item.name = world.pick<Json>('', '.', '..', 'a b', '@t0.x', { times: 250 })
  if (odd === 1) item.configs = topicConfigs(world)
  if (odd === 2) {
    item.numPartitions = world.mostly(-1, 1)
    item.replicationFactor = world.mostly(-1, 1)
    item.assignments = assignments(world)
  }
  const body: JsonObject = { topics: odd === 3 ? [item, { ...item }] : [item] }
  if (odd === 4) (body.topics as Json[]).push({ name: `@t${world.next()}`, numPartitions: 2, replicationFactor: 1 })
  body.validateOnly = world.chance(0.4)
  const before = world.steps.length
  world.send(createTopics, world.version(createTopics), body)
  // Whether it is there now nobody knows here; that it may be is enough.
  if (before < world.steps.length && typeof item.name === 'string') remember(world, item.name)
}

function remember(world: World, name: string): void {
  if (!/^@t\d+$/.test(name) || world.topics.some(topic => topic.name === name)) return
  world.topics.push({ name, partitions: 1, ends: [0], exists: world.chance(0.3), ids: [] })
}

function assignments(world: World): Json {
  return Array.from({ length: 1 + world.int(3) }, (_, index) => ({
    partitionIndex: world.mostly(index, 0, 7, -1),
    brokerIds: world.mostly<number[]>([1], [], [2], [1, 1], [1, 2]),
  }))
}

export function deleteTopic(world: World): void {
  const topic = world.topic()
  const version = world.version(deleteTopics)
  const latest = topic.ids.at(-1)
  const dice = world.random.next()
  const byName = { name: topic.name }
  const byId = { name: null, topicId: latest === undefined ? 'abcdefghijklmnopqrstuA' : `$${latest}` }
  let topics: JsonObject[] = [version >= 6 && world.chance(0.4) ? byId : byName]
  if (dice < 0.05) topics = [byName, byName]
  else if (dice < 0.1) topics = [{ ...byId, name: topic.name }]
  else if (dice < 0.13) topics = [{ name: null }]
  else if (dice < 0.18) topics = [byName, { name: world.topic().name }]
  else if (dice < 0.22 && topic.ids.length > 0) topics = [{ name: null, topicId: `$${topic.ids[0]}` }]
  else topic.exists = false
  const topicNames = topics.map(({ name }) => name ?? 'x')
  world.send(deleteTopics, version, version >= 6 ? { topics } : { topicNames })
}

export function growTopic(world: World): void {
  const topic = world.topic()
  const count = world.mostly(topic.partitions + 1, topic.partitions, 0, -1, topic.partitions - 1)
  const validateOnly = world.chance(0.15)
  const item: JsonObject = { name: topic.name, count, assignments: null }
  const dice = world.random.next()
  if (dice < 0.15)
    item.assignments = world.pick<Json>([], [{ brokerIds: [1] }], [{ brokerIds: [2] }], [{ brokerIds: [] }])
  else if (!validateOnly && count > topic.partitions && topic.exists) {
    topic.partitions = count
    topic.ends.push(0)
  }
  const items = dice > 0.96 ? [item, item] : [item]
  world.send(createPartitions, world.version(createPartitions), { topics: items, validateOnly })
}

export function describeTopics(world: World): void {
  const version = world.version(metadata)
  const dice = world.random.next()
  const body: JsonObject = {
    allowAutoTopicCreation: version < 4 || world.chance(0.1),
    includeTopicAuthorizedOperations: world.chance(0.2),
    includeClusterAuthorizedOperations: world.chance(0.2),
  }
  if (dice < 0.15) {
    body.topics = version === 0 ? [] : null
    world.send(metadata, version, body, { all: true })
    return
  }
  const ids = world.topics.flatMap(topic => topic.ids)
  if (dice < 0.35 && version >= 10 && ids.length > 0) {
    body.topics = [{ name: world.mostly<Json>(null, world.topic().name), topicId: `$${world.pick(...ids)}` }]
  } else {
    const names = [world.topic().name, world.topic().name]
    if (dice < 0.4) names.push(world.pick('', 'a b', '..', '__consumer_offsets'))
    body.topics = names.slice(world.int(2)).map(name => ({ name }))
  }
  world.send(metadata, version, body)
}

export function describePages(world: World): void {
  const names = [...new Set([world.topic().name, world.topic().name, world.topic().name])]
  const cursor = { topicName: world.topic().name, partitionIndex: world.pick(0, 1, 2, -1) }
  world.send(describeTopicPartitions, 0, {
    topics: names.map(name => ({ name })),
    responsePartitionLimit: world.pick(2000, 1, 2, 3, 0),
    cursor: world.chance(0.3) ? cursor : null,
  })
}

export function describeDirectories(world: World): void {
  const topic = world.topic()
  const topics = [{ topic: topic.name, partitions: [world.partition(topic), 0] }]
  world.send(describeLogDirs, world.version(describeLogDirs), { topics })
}

export function describeTheCluster(world: World): void {
  world.send(describeCluster, world.version(describeCluster), {
    includeClusterAuthorizedOperations: world.chance(0.3),
    endpointType: world.mostly(1, 2, 3),
    includeFencedBrokers: world.chance(0.3),
  })
}
