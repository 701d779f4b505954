import { apiVersions } from '../../src/protocol/apis/api-versions.ts'
import { APIS } from '../../src/protocol/apis/index.ts'
import { Prng } from '../../src/util/prng.ts'
import type { Step } from './sequence.ts'
import * as configs from './steps/configs.ts'
import * as fetches from './steps/fetch.ts'
import * as groups from './steps/groups.ts'
import * as log from './steps/log.ts'
import * as offsets from './steps/offsets.ts'
import * as topics from './steps/topics.ts'
import { World } from './world.ts'

/**
 * Makes a sequence of requests from a seed. Each has one or two themes, so that its requests meet each other; every now and
 * then one of any theme comes between.
 */

type Weighted = readonly (readonly [weight: number, make: (world: World) => void])[]

const THEMES: Record<string, Weighted> = {
  log: [
    [10, log.produceSome],
    [6, fetches.fetchSome],
    [3, log.listSomeOffsets],
    [2, log.deleteSomeRecords],
    [1, log.askLeaderEpoch],
    [1, topics.describeDirectories],
  ],
  producers: [
    [2, log.initProducer],
    [12, log.produceIdempotent],
    [1, log.describeSomeProducers],
    [1, log.deleteSomeRecords],
    [2, fetches.fetchSome],
    [1, log.produceSome],
  ],
  fetch: [
    [14, fetches.fetchSome],
    [5, log.produceSome],
    [1, topics.deleteTopic],
    [1, topics.createTopic],
    [1, log.deleteSomeRecords],
  ],
  topics: [
    [4, topics.createTopic],
    [3, topics.createOddly],
    [4, topics.deleteTopic],
    [3, topics.growTopic],
    [5, topics.describeTopics],
    [2, topics.describePages],
    [1, topics.describeTheCluster],
    [2, log.produceSome],
    [2, fetches.fetchSome],
  ],
  configs: [
    [5, configs.describeSomeConfigs],
    [4, configs.alterSomeConfigs],
    [6, configs.alterIncrementally],
    [1, configs.listResources],
    [2, configs.alterQuotas],
    [2, configs.describeQuotas],
    [2, log.produceSome],
  ],
  groups: [
    [5, groups.joinNew],
    [3, groups.rejoinAll],
    [2, groups.rejoinOne],
    [6, groups.syncAll],
    [4, groups.beat],
    [3, groups.leave],
    [3, groups.describeSomeGroups],
    [1, groups.listAllGroups],
    [1, groups.deleteGroup],
    [2, offsets.commit],
    [1, groups.find],
  ],
  offsets: [
    [6, offsets.commit],
    [6, offsets.fetchOffsets],
    [3, offsets.deleteOffsets],
    [1, groups.deleteGroup],
    [1, groups.joinNew],
    [1, groups.syncAll],
    [1, groups.describeSomeGroups],
    [1, topics.deleteTopic],
    [1, topics.createTopic],
  ],
}
const NAMES = Object.keys(THEMES)

export function generate(seed: number): Step[] {
  const world = new World(new Prng(seed))
  const themes = [world.pick(...NAMES), world.pick(...NAMES)].slice(world.int(2))
  topics.createTopic(world)
  if (world.chance(0.5)) topics.createTopic(world)
  const length = 8 + world.int(35)
  while (world.steps.length < length) {
    const theme = world.chance(0.93) ? world.pick(...themes) : world.pick(...NAMES)
    choose(world, THEMES[theme])(world)
    if (world.chance(0.006)) odd(world)
    if (world.chance(0.01)) world.steps.push({ kind: 'disconnect', on: world.pick('A', 'B', 'F') })
  }
  for (const topic of world.topics) if (topic.exists && topic.ends.some(end => end > 0)) log.readAll(world, topic)
  return world.steps
}

function choose(world: World, choices: Weighted): (world: World) => void {
  let left = world.random.next() * choices.reduce((sum, [weight]) => sum + weight, 0)
  for (const [weight, make] of choices) {
    left -= weight
    if (left < 0) return make
  }
  return choices[0][1]
}

/** A version or a body that no API has. */
function odd(world: World): void {
  const dice = world.int(3)
  if (dice === 0)
    world.send(apiVersions, world.version(apiVersions), { clientSoftwareName: 'a', clientSoftwareVersion: '1' })
  else {
    const api = dice === 1 ? apiVersions : world.pick(...APIS)
    const version = world.pick(api.versions[1] + 1, api.versions[1] + 20)
    world.steps.push({ kind: 'request', on: 'B', api, version, body: {}, hex: '0000', bind: {} })
  }
}
