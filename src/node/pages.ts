/**
 * What the HTTP side of a broker and of a cluster has to tell. How it is served is http.ts.
 */
import type { Broker } from '../broker/broker.ts'
import { describeBroker } from '../broker/describe.ts'
import type { Hub } from '../cluster/index.ts'
import { describeCluster } from './describe-cluster.ts'
import type { Health, HttpControl, Observed } from './http.ts'
import { renderMetrics } from './metrics.ts'
import type { ClusterNode } from './node-methods.ts'
import type { ClusterBroker } from './running-cluster.ts'

/** @param broker the broker as it is now: another after a reset */
export function brokerPages(broker: () => Broker, control: HttpControl): Observed {
  return {
    health: () => ({ serves: true, text: 'ok\n' }),
    metrics: () => {
      const description = describeBroker(broker())
      return renderMetrics({ ...description, brokersUp: 1, sources: [{ description, counters: broker().counters }] })
    },
    describe: async () => describeBroker(broker()),
    control,
  }
}

interface ObservedCluster {
  readonly hub: Hub
  readonly brokers: readonly ClusterBroker[]
  readonly nodes: ReadonlyMap<number, ClusterNode>
}

export function clusterPages({ hub, brokers, nodes }: ObservedCluster): Observed {
  return {
    health: () => healthOf(hub),
    metrics: async () => {
      const { topics, groups, brokers: places } = await describeCluster(hub, brokers)
      const sources = await Promise.all(
        places.flatMap(({ description, brokerId }) => {
          const node = nodes.get(brokerId)
          if (description === undefined || node === undefined) return []
          return [node.methods.counters().then(counters => ({ broker: brokerId, description, counters }))]
        }),
      )
      return renderMetrics({ topics, groups, brokersUp: sources.length, sources })
    },
    describe: () => describeCluster(hub, brokers),
  }
}

/** Beyond these partitions are counted only. */
const MOST_LINES = 50

/** Every partition has a leader: clients are served. Where a broker or a replica is missing it says so. */
function healthOf(hub: Hub): Health {
  const { image, places } = hub
  const partitions: string[] = []
  let isLed = true
  for (const topic of image.topicsByName.values()) {
    for (const { partitionId, leader, isr, replicas } of topic.partitions) {
      const name = `${topic.name}-${partitionId}`
      if (leader < 0) {
        isLed = false
        partitions.push(`${name} has no leader`)
      } else if (isr.length < replicas.length) {
        partitions.push(`${name} has ${isr.length} of ${replicas.length} replicas in sync`)
      }
    }
  }
  const lines = places.map(({ id, state }) => {
    const isFenced = image.brokers.get(id)?.fenced ?? true
    return { isWell: state === 'running' && !isFenced, text: `broker ${id} ${state}${isFenced ? ', fenced' : ''}` }
  })
  const serves = isLed && places.some(({ state }) => state === 'running')
  const isWell = partitions.length === 0 && lines.every(each => each.isWell)
  const more = partitions.length - MOST_LINES
  const text = [
    serves ? (isWell ? 'ok' : 'degraded') : 'unavailable',
    ...lines.map(each => each.text),
    ...partitions.slice(0, MOST_LINES),
    ...(more > 0 ? [`and ${more} more partitions`] : []),
  ]
  return { serves, text: `${text.join('\n')}\n` }
}
