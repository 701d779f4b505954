import type { PartitionImage } from '../broker/metadata/image.ts'
import type { Hub } from './hub.ts'
import { CONTROLLER } from './network.ts'

/**
 * What keeps a cluster from being at rest: brokers that are not as the controller has them, metadata on its way, partitions without a leader that
 * could have one, replicas that are still catching up. What cannot come to pass as things are (who is dead, or cut off) is not waited for.
 */

/** In words what is not at rest yet, or undefined. */
export function unsettled(hub: Hub): string | undefined {
  for (const { id } of hub.places) {
    const trouble = brokerTrouble(hub, id)
    if (trouble !== undefined) return trouble
  }
  for (const { name, partitions } of hub.image.topicsByName.values()) {
    for (const partition of partitions) {
      const trouble = partitionTrouble(hub, partition)
      if (trouble !== undefined) return `${name}-${partition.partitionId} ${trouble}`
    }
  }
  return undefined
}

function brokerTrouble(hub: Hub, id: number): string | undefined {
  const registered = hub.image.brokers.get(id)
  if (!reachesController(hub, id)) {
    return registered?.fenced === false ? `broker ${id} is not fenced yet` : undefined
  }
  const { brokerEpoch } = hub.place(id)
  if (registered === undefined || registered.brokerEpoch !== brokerEpoch) return `broker ${id} is not registered yet`
  if (registered.fenced) return `broker ${id} is fenced`
  return hub.heardBy(id) < hub.metadataOffset ? `broker ${id} lacks metadata` : undefined
}

/** Whether a broker runs and can talk with the controller, both ways. */
function reachesController(hub: Hub, id: number): boolean {
  const { network } = hub
  return hub.place(id).state === 'running' && !network.isCut(id, CONTROLLER) && !network.isCut(CONTROLLER, id)
}

function partitionTrouble(hub: Hub, partition: PartitionImage): string | undefined {
  const { leader, isr, replicas, addingReplicas, removingReplicas, elr } = partition
  const living = replicas.filter(id => reachesController(hub, id))
  if (addingReplicas.length + removingReplicas.length > 0 && living.length === replicas.length) return 'is being moved'
  if (leader < 0) return living.some(id => isr.includes(id) || elr.includes(id)) ? 'has no leader' : undefined
  if (!living.includes(leader)) return `is led by broker ${leader}, which is gone`
  const late = living.find(id => !isr.includes(id) && canFetch(hub, id, leader))
  return late === undefined ? undefined : `has broker ${late} not in sync`
}

function canFetch({ network }: Hub, follower: number, leader: number): boolean {
  return !network.isCut(follower, leader) && !network.isCut(leader, follower)
}
