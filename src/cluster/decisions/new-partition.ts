import { isActive } from '../../broker/metadata/image.ts'
import type { MetadataRecord } from '../../broker/metadata/records.ts'
import { KafkaError } from '../../protocol/errors.ts'
import type { DecisionContext } from '../decision-context.ts'

/** The record of a new partition: in sync is who lives, and the first of those leads (`ReplicationControlManager.buildPartitionRegistration`). */
export function newPartition(
  topicId: string,
  partitionId: number,
  { replicas, isManual }: { replicas: readonly number[]; isManual: boolean },
  { image, floor }: DecisionContext,
): MetadataRecord {
  const isr = replicas.filter(id => isActive(image.brokers.get(id)))
  if (isr.length === 0) {
    if (isManual) {
      const message = `All brokers specified in the manual partition assignment for partition ${partitionId} are fenced or in controlled shutdown.`
      throw new KafkaError('INVALID_REPLICA_ASSIGNMENT', message)
    }
    const message = `Unable to replicate the partition ${replicas.length} time(s): All brokers are currently fenced or in controlled shutdown.`
    throw new KafkaError('INVALID_REPLICATION_FACTOR', message)
  }
  return {
    type: 'partition',
    topicId,
    partitionId,
    replicas,
    isr,
    leader: isr[0],
    leaderEpoch: floor.leaderEpoch,
    partitionEpoch: 0,
  }
}
