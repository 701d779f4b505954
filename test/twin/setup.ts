import type { JsonObject } from './json.ts'
import { Failed, type Target } from './names.ts'
import { errorIn, Play } from './play.ts'
import type { Step } from './script.ts'
import type { World } from './world.ts'

/** Steps made of several requests: topics and group configs that can be used at once, and a broker whose coordinators run. */

const GROUP_RESOURCE = 32
const MAX_TRIES = 200
const RETRY_MS = 50

/** `topic @t [partitions=3] [config=value …]`: creates it and waits until it can be used. */
export async function createTopic(play: Play, step: Step): Promise<void> {
  const name = play.names.text(step.name)
  const options = new Map(step.options)
  const numPartitions = Number(options.get('partitions') ?? 1)
  options.delete('partitions')
  const configs = [...options].map(([config, value]) => ({ name: config, value }))
  const topics = [{ name, numPartitions, replicationFactor: 1, configs }]
  const refused = errorIn(await play.ask('CreateTopics', 7, { topics }))
  if (refused !== undefined) throw new Failed(`CreateTopics answers ${refused}`)
  const offsets = Object.fromEntries(
    Array.from({ length: numPartitions }, (_, index) => [`${name}/${index}`, { timestamp: -2 }]),
  )
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const metadata = await play.ask('Metadata', 12, { topics: [{ name }], allowAutoTopicCreation: false })
    const [{ partitions }] = metadata.topics as { partitions: JsonObject[] }[]
    const led = errorIn(metadata.topics) === undefined && partitions.every(({ leaderId }) => Number(leaderId) >= 0)
    // Metadata may name the leader a moment before the leader itself knows; ListOffsets tells.
    if (
      led &&
      partitions.length === numPartitions &&
      errorIn(await play.ask('ListOffsets', 6, offsets)) === undefined
    ) {
      return play.world.sleep(60)
    }
    await play.world.sleep(RETRY_MS)
  }
  throw new Failed('the topic is not ready after 10 s')
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
export async function prepare(world: World, host: string, port: number): Promise<Target> {
  const play = new Play({ host, port, nodeId: 0, clusterId: '' }, world)
  try {
    const { brokers, clusterId } = await play.ask('Metadata', 9, { topics: [] })
    const all = brokers as { host: string; port: number; nodeId: number }[]
    const me = all.find(broker => broker.port === port) ?? all[0]
    await wakeCoordinator(play, 0, 'warm-up')
    await wakeCoordinator(play, 1, 'warm-up')
    await wakeCoordinator(play, 2, 'warm-up:AAAAAAAAAAAAAAAAAAAAAQ:0')
    return { host: me.host, port: me.port, nodeId: me.nodeId, clusterId: String(clusterId) }
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
