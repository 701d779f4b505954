import type { MetadataImage } from '../broker/metadata/image.ts'
import type { ClusterFloor } from './decision-context.ts'

/**
 * What a cluster begins with that takes the place of another under the same address: clients of the one before are its clients.
 */

/** Numbers that no client has seen from the cluster that `image` is of, or from those before it. */
export function floorAbove(image: MetadataImage, before: ClusterFloor): ClusterFloor {
  let leaderEpoch = before.leaderEpoch
  for (const { partitions } of image.topicsById.values()) {
    for (const partition of partitions) leaderEpoch = Math.max(leaderEpoch, partition.leaderEpoch)
  }
  return { leaderEpoch: leaderEpoch + 1, producerId: Math.max(before.producerId, image.nextProducerId) }
}
