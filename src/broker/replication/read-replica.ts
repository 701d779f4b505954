import type { Broker } from '../broker.ts'
import { isActive } from '../metadata/image.ts'
import type { Partition } from '../partition.ts'

/**
 * Which replica a consumer reads from (KIP-392, Kafka's `RackAwareReplicaSelector`): one in its own rack that has what it asks for, if the
 * leader is in another and the broker was told to choose so.
 */

const RACK_AWARE = 'org.apache.kafka.common.replica.RackAwareReplicaSelector'

/** The follower to be read from, or undefined for the leader. */
export function preferredReadReplica(
  broker: Broker,
  partition: Partition,
  fetchOffset: number,
  rack: string,
): number | undefined {
  const { leadership, image } = partition
  if (rack === '' || !leadership?.hasFollowers) return undefined
  if (broker.config.text('replica.selector.class') !== RACK_AWARE) return undefined
  const rackOf = (id: number) => broker.image.brokers.get(id)?.rack
  if (rackOf(broker.id) === rack) return undefined
  let best: { id: number; logEndOffset: number } | undefined
  for (const id of image.isr) {
    const progress = leadership.progressOf(id)
    if (progress === undefined || rackOf(id) !== rack || !isActive(broker.image.brokers.get(id))) continue
    const { logStartOffset, logEndOffset } = progress
    if (fetchOffset < logStartOffset || fetchOffset > logEndOffset) continue
    if (best === undefined || logEndOffset > best.logEndOffset) best = { id, logEndOffset }
  }
  return best?.id
}
