/**
 * The topics of a cluster as its handle has them: how they are made, and who leads and is in sync by what the controller has decided.
 */
import type { MetadataImage, PartitionImage } from '../broker/metadata/image.ts'
import type { Hub, TopicDeclaration } from '../cluster/index.ts'
import { OttlaError } from './errors.ts'
import { invalid } from './options.ts'
import type { ClusterTopic } from './running-cluster.ts'
import type { SystemEnv } from './system-env.ts'

/** @throws OttlaError `OTTLA_INVALID_OPTION` for the first that the cluster refuses */
export async function makeTopics(
  { env, hub }: { readonly env: SystemEnv; readonly hub: Hub },
  topics: readonly TopicDeclaration[],
): Promise<void> {
  const refused = await env.settled(() => hub.createTopics(topics))
  if (refused !== undefined) throw new OttlaError('OTTLA_INVALID_OPTION', refused.message, { cause: refused })
}

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
