import type { Json, JsonObject } from './json.ts'
import { Failed, type Target } from './names.ts'
import { errorIn, Play } from './play.ts'
import type { Fault, Step } from './script.ts'
import type { World } from './world.ts'

/** Steps made of several requests: topics and group configs that can be used at once, and a broker whose coordinators run. */

const GROUP_RESOURCE = 32
const MAX_TRIES = 200
const RETRY_MS = 50
const EARLIEST = -2

/**
 * `topic @t [partitions=3] [replication=3 | assignment=1,2,3;2,3,1] [config=value …]`: creates it and waits until it can be
 * used, on every broker.
 */
export async function createTopic(play: Play, step: Step): Promise<void> {
  const name = play.names.text(step.name)
  const options = new Map(step.options)
  const assignment = options.get('assignment')?.split(';')
  const assignments = assignment?.map((ids, partitionIndex) => ({
    partitionIndex,
    brokerIds: ids.split(',').map(Number),
  }))
  const numPartitions = assignment?.length ?? Number(options.get('partitions') ?? 1)
  const replicationFactor = Number(options.get('replication') ?? 1)
  for (const own of ['partitions', 'replication', 'assignment']) options.delete(own)
  const configs = [...options].map(([config, value]) => ({ name: config, value }))
  const topic = { name, numPartitions, replicationFactor, configs }
  const topics = [assignments ? { ...topic, assignments, numPartitions: -1, replicationFactor: -1 } : topic]
  const refused = errorIn(await play.ask('CreateTopics', 7, { topics }))
  if (refused !== undefined) throw new Failed(`CreateTopics answers ${refused}`)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    if (await ready(play, name, numPartitions)) return play.world.sleep(60)
    await play.world.sleep(RETRY_MS)
  }
  throw new Failed('the topic is not ready after 10 s')
}

/** True when all brokers know all partitions and their leaders lead. */
async function ready(play: Play, name: string, numPartitions: number): Promise<boolean> {
  for (const broker of play.world.brokers?.running() ?? [undefined]) {
    const metadata = await play.ask('Metadata', 12, { topics: [{ name }], allowAutoTopicCreation: false }, broker)
    const [{ partitions }] = metadata.topics as { partitions: JsonObject[] }[]
    if (errorIn(metadata.topics) !== undefined || partitions.length !== numPartitions) return false
    for (const { partitionIndex, leaderId } of partitions) {
      if (Number(leaderId) < 0) return false
      if (broker !== undefined && broker !== leaderId) continue
      // Metadata may name the leader a moment before the leader itself knows; ListOffsets tells.
      const offsets = { [`${name}/${partitionIndex}`]: { timestamp: EARLIEST } }
      if (errorIn(await play.ask('ListOffsets', 6, offsets, broker)) !== undefined) return false
    }
  }
  return true
}

/** What `state` compares: what it calls it, and the field of DescribeTopicPartitions. */
const STATE: Record<string, string> = {
  leader: 'leaderId',
  epoch: 'leaderEpoch',
  replicas: 'replicaNodes',
  isr: 'isrNodes',
  elr: 'eligibleLeaderReplicas',
  last: 'lastKnownElr',
  offline: 'offlineReplicas',
}

/** `state @t/0 leader=2 isr=2,3 …`: waits until all brokers that run see the partition like this; lists in any order, `none`. */
export async function awaitState(play: Play, step: Step): Promise<void> {
  const [topic, index] = play.names.text(step.name).split('/')
  const wanted = [...step.options].map(([option, value]) => {
    const field = STATE[option]
    if (field === undefined) throw new Failed(`state knows no ${option}`)
    return [field, value === 'none' ? '' : String(play.names.resolve(value))] as const
  })
  const name = `${topic}/${index}`
  let seen: JsonObject = {}
  for (let tries = 0; tries < MAX_TRIES * 2; tries++) {
    let same = true
    for (const broker of play.world.brokers?.running() ?? [undefined]) {
      const { topics } = await play.ask('DescribeTopicPartitions', 0, { topics: [{ name: topic }] }, broker)
      const [{ partitions }] = topics as { partitions: JsonObject[] }[]
      seen = partitions.find(({ partitionIndex }) => partitionIndex === Number(index)) ?? {}
      same &&= wanted.every(([field, value]) => sorted(seen[field]) === sorted(value.split(',')))
    }
    // What a broker says of a partition is a moment ahead of what it does with it.
    if (same && (await leads(play, Number(seen.leaderId), name))) return play.world.sleep(300)
    await play.world.sleep(RETRY_MS * 2)
  }
  throw new Failed(`not so after 40 s, but ${JSON.stringify(seen)}`)
}

/** True when the leader leads, or there is none that could be asked. */
async function leads(play: Play, leader: number, name: string): Promise<boolean> {
  const { brokers } = play.world
  if (brokers !== undefined && !brokers.running().includes(leader)) return true
  const answer = await play.ask('ListOffsets', 6, { [name]: { timestamp: EARLIEST } }, brokers && leader)
  return errorIn(answer) === undefined
}

function sorted(list: Json | undefined): string {
  return Array.isArray(list) ? [...list].map(String).sort().join() : String(list ?? '')
}

/** Waits until a broker that was started again is no longer fenced, as far as all that run know. */
export async function awaitBroker(play: Play, broker: number): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES * 2; tries++) {
    if (await known(play, [broker])) return
    await play.world.sleep(RETRY_MS * 2)
  }
  throw new Failed(`broker ${broker} is not back after 40 s`)
}

/** True when all that run know all of these brokers to run. */
async function known(play: Play, brokers: readonly number[]): Promise<boolean> {
  for (const running of play.world.brokers?.running() ?? []) {
    const metadata = await play.ask('Metadata', 12, { topics: [] }, running)
    const alive = new Set((metadata.brokers as { nodeId: number }[]).map(({ nodeId }) => nodeId))
    if (!brokers.every(each => alive.has(each))) return false
  }
  return true
}

/** `group @g name=value …`: sets configs of a group and waits until they are in force. */
export async function configureGroup(play: Play, step: Step): Promise<void> {
  const resource = { resourceType: GROUP_RESOURCE, resourceName: play.names.text(step.name) }
  const configs = [...step.options].map(([name, value]) => ({ name, configOperation: 0, value }))
  const refused = errorIn(await play.ask('IncrementalAlterConfigs', 1, { resources: [{ ...resource, configs }] }))
  if (refused !== undefined) throw new Failed(`IncrementalAlterConfigs answers ${refused}`)
  const configurationKeys = [...step.options.keys()]
  for (let tries = 0; tries < MAX_TRIES / 2; tries++) {
    const described = await play.ask('DescribeConfigs', 4, { resources: [{ ...resource, configurationKeys }] })
    const [result] = described.results as { configs: { name: string; value: string }[] }[]
    if (result.configs.every(({ name, value }) => value === step.options.get(name))) return play.world.sleep(100)
    await play.world.sleep(RETRY_MS)
  }
  throw new Failed("the group's configs are not in force after 5 s")
}

/** Asks a broker who it is, and wakes its coordinators, so that no scenario meets them while they load. */
export async function prepare(world: World, host: string, port: number, several = false): Promise<Target> {
  const play = new Play({ host, port, nodeId: 0, clusterId: '' }, world)
  try {
    const { brokers, clusterId } = await play.ask('Metadata', 9, { topics: [] })
    const all = brokers as { host: string; port: number; nodeId: number }[]
    const me = all.find(broker => broker.port === port) ?? all[0]
    await wakeCoordinator(play, 0, 'warm-up')
    await wakeCoordinator(play, 1, 'warm-up')
    await wakeCoordinator(play, 2, 'warm-up:AAAAAAAAAAAAAAAAAAAAAQ:0')
    const target = { host: me.host, port: me.port, clusterId: String(clusterId) }
    return several ? { ...target, nodeId: undefined, brokers: all } : { ...target, nodeId: me.nodeId }
  } finally {
    play.close()
  }
}

async function wakeCoordinator(play: Play, keyType: number, key: string): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    const answer = await play.ask('FindCoordinator', keyType === 2 ? 6 : 4, { keyType, coordinatorKeys: [key] })
    if (errorIn(answer) !== 'COORDINATOR_NOT_AVAILABLE') return
    await play.world.sleep(100)
  }
}

/**
 * Brings a cluster back to where a scenario may begin: everybody runs and is in sync. Topics stay: when one is deleted whose
 * eligible leader replicas were cleared by a change of `min.insync.replicas`, Kafka 4.4's controller fails at the next
 * registration of their broker.
 */
export async function recover(world: World, target: Target, down: ReadonlyMap<number, Fault>): Promise<void> {
  const play = new Play(target, world)
  try {
    for (const [broker, fault] of [...down])
      await world.brokers?.befall(fault === 'pause' ? 'resume' : 'restart', broker)
    const brokers = (target.brokers ?? []).map(({ nodeId }) => nodeId)
    for (let tries = 0; ; tries++) {
      if ((await known(play, brokers)) && (await inSync(play))) return
      if (tries === MAX_TRIES * 3) throw new Failed('the cluster does not recover')
      await world.sleep(RETRY_MS * 2)
    }
  } finally {
    play.close()
  }
}

/** True when all replicas of what has a leader are in sync. */
async function inSync(play: Play): Promise<boolean> {
  const { topics } = (await play.ask('DescribeTopicPartitions', 0, { topics: [] })) as { topics: JsonObject[] }
  const partitions = topics.flatMap(
    topic => topic.partitions as { [field: string]: Json; isrNodes: Json[]; replicaNodes: Json[] }[],
  )
  return partitions.every(
    ({ leaderId, isrNodes, replicaNodes }) => leaderId === -1 || isrNodes.length === replicaNodes.length,
  )
}
