/**
 * The loop that makes brokers fail: one after the other, those that lead or coordinate, in every way that the handle of a cluster has, as a seed
 * says. After each fault the cluster comes to rest, so that never more than one broker is away, unless the loop is told otherwise.
 */
import type { ClusterBroker, RunningCluster } from '../../../src/node/index.ts'
import type { Prng } from '../../../src/util/prng.ts'
import { waitUntil, within } from '../child.ts'

export interface FaultLoop {
  cluster: RunningCluster
  random: Prng
  /** Topics and their numbers of partitions, `__consumer_offsets` among them: its leaders coordinate the groups. */
  topics: { name: string; partitions: number }[]
  forMs: number
  /** Two brokers are killed at once; the third, and nobody's power, is left. */
  twoAtOnce?: boolean
}

const SETTLED_MS = 30_000

type Fault = (place: Place) => Promise<void>

interface Place {
  cluster: RunningCluster
  victim: ClusterBroker
  other: ClusterBroker
  holdMs: number
}

/** The more often it stands here, the more often it is done. */
const FAULTS: [name: string, weight: number, fault: Fault][] = [
  [
    'kill',
    5,
    async ({ victim, holdMs }) => {
      await victim.kill()
      await sleep(holdMs)
      await victim.restart()
    },
  ],
  [
    'kill, and start at once',
    1,
    async ({ victim }) => {
      await victim.kill()
      await victim.restart()
    },
  ],
  [
    'power loss',
    2,
    async ({ victim, holdMs }) => {
      await victim.kill({ powerLoss: true })
      await sleep(holdMs)
      await victim.restart()
    },
  ],
  [
    'power loss, and start at once',
    1,
    async ({ victim }) => {
      await victim.kill({ powerLoss: true })
      await victim.restart()
    },
  ],
  [
    'stop',
    2,
    async ({ victim, holdMs }) => {
      await victim.stop()
      await sleep(holdMs)
      await victim.restart()
    },
  ],
  [
    'pause',
    2,
    async ({ victim, holdMs }) => {
      await victim.pause()
      await sleep(holdMs)
      await victim.resume()
    },
  ],
  [
    'part from all',
    2,
    async ({ cluster, victim, holdMs }) => {
      await cluster.partition(
        [victim.id],
        cluster.brokers.map(({ id }) => id).filter(id => id !== victim.id),
      )
      await sleep(holdMs)
      await cluster.heal()
    },
  ],
  [
    'cut from the controller',
    1,
    async ({ cluster, victim, holdMs }) => {
      await cluster.link(victim.id, 'controller').cut()
      await sleep(holdMs)
      await cluster.heal()
    },
  ],
  [
    'cut from another',
    1,
    async ({ cluster, victim, other, holdMs }) => {
      await cluster.link(victim.id, other.id).cut()
      await sleep(holdMs)
      await cluster.heal()
    },
  ],
  [
    'slow and double',
    1,
    async ({ cluster, victim, other, holdMs }) => {
      await cluster.link(victim.id, other.id).slow(50)
      await cluster.link(victim.id, other.id).double()
      await sleep(holdMs)
      await cluster.heal()
    },
  ],
]

const TWO_AT_ONCE: [string, number, Fault][] = [
  [
    'kill two',
    1,
    async ({ victim, other, holdMs }) => {
      await Promise.all([victim.kill(), other.kill()])
      await sleep(holdMs)
      await Promise.all([victim.restart(), other.restart()])
    },
  ],
]

/** Goes on for as long as it was told, and gives what was done how often. */
export async function causeFaults({
  cluster,
  random,
  topics,
  forMs,
  twoAtOnce,
}: FaultLoop): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const until = Date.now() + forMs
  const below = (count: number) => Math.floor(random.next() * count)
  while (Date.now() < until) {
    const topic = topics[below(topics.length)]
    const leader = await cluster.topic(topic.name).leader(below(topic.partitions))
    const victim = cluster.broker(leader ?? 1 + below(cluster.brokers.length))
    const others = cluster.brokers.filter(({ id }) => id !== victim.id)
    const other = others[below(others.length)]
    const [name, , fault] = pick(twoAtOnce ? TWO_AT_ONCE : FAULTS, random)
    counts.set(name, (counts.get(name) ?? 0) + 1)
    const place = { cluster, victim, other, holdMs: 200 + below(2800) }
    await within(SETTLED_MS, `${name} of broker ${victim.id}`, fault(place))
    await cluster.settled({ timeoutMs: SETTLED_MS })
    await sleep(200 + below(800))
  }
  return counts
}

/**
 * Loses records, as often as it is told: a leader is cut off from its followers until it is alone in sync with itself, acknowledges on, and loses
 * its power. Who leads then was not in sync, which the topic has to allow.
 */
export async function loseRecords(options: { cluster: RunningCluster; random: Prng; topics: string[]; times: number }) {
  const { cluster, random, topics, times } = options
  for (let time = 0; time < times; time++) {
    const topic = topics[Math.floor(random.next() * topics.length)]
    const victim = cluster.broker((await cluster.topic(topic).leader()) as number)
    for (const { id } of cluster.brokers) if (id !== victim.id) await cluster.link(victim.id, id).cut()
    await waitUntil(
      async () => (await cluster.topic(topic).isr()).length === 1,
      () => `${topic} has no leader that is alone`,
    )
    await sleep(1000)
    await victim.kill({ powerLoss: true })
    await cluster.heal()
    await cluster.settled({ timeoutMs: SETTLED_MS })
    await sleep(1000)
    await victim.restart()
    await cluster.settled({ timeoutMs: SETTLED_MS })
  }
}

function pick(faults: [string, number, Fault][], random: Prng): [string, number, Fault] {
  let left = random.next() * faults.reduce((sum, [, weight]) => sum + weight, 0)
  for (const fault of faults) {
    left -= fault[1]
    if (left < 0) return fault
  }
  return faults[0]
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
