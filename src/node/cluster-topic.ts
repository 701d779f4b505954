/**
 * Who leads a topic and who is in sync, by what the controller has decided: what `cluster.topic(…)` tells.
 */
import type { MetadataImage, PartitionImage } from '../broker/metadata/image.ts'
import { invalid } from './options.ts'
import type { ClusterTopic } from './running-cluster.ts'

export function clusterTopic(name: string, image: () => MetadataImage): ClusterTopic {
  const find = async (partition = 0): Promise<PartitionImage> => {
    const found = image().partition(name, partition)
    if (found === undefined) throw invalid(`there is no partition ${name}-${partition}`)
    return found
  }
  return {
    name,
    leader: async partition => {
      const { leader } = await find(partition)
      return leader < 0 ? undefined : leader
    },
    leaderEpoch: async partition => (await find(partition)).leaderEpoch,
    replicas: async partition => [...(await find(partition)).replicas],
    isr: async partition => [...(await find(partition)).isr],
    elr: async partition => [...(await find(partition)).elr],
  }
}
