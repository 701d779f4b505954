import { describe, expect, it } from 'vitest'
import { BrokerConfig } from '../../broker/configs/broker-config.ts'
import { TopicConfig } from '../../broker/configs/topic-config.ts'
import { MetadataImage, type PartitionImage, RESOURCE_TYPE } from '../../broker/metadata/image.ts'
import { decodeMetadataRecord, encodeMetadataRecord, type MetadataRecord } from '../../broker/metadata/records.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import { ZERO_UUID } from '../../util/uuid.ts'
import { VirtualEnv } from '../../util/virtual-env.ts'
import type { DecisionContext } from '../decision-context.ts'
import { FailedReplicas } from '../failed-replicas.ts'
import { alterPartition } from './alter-partition.ts'
import { electLeadersDecision } from './elect-leaders.ts'
import { alterPartitionReassignmentsDecision } from './reassign-partitions.ts'

const PREFERRED = 0
const UNCLEAN = 1

/** Brokers 1 to 3, of which some are fenced, and one partition. */
function start(partition: { isr: number[]; leader: number; replicas?: number[]; fenced?: number[] }) {
  const image = new MetadataImage()
  const context: DecisionContext = {
    failedReplicas: new FailedReplicas(),
    image,
    env: new VirtualEnv(),
    config: new BrokerConfig({}),
    nextOffset: 0,
    appended: 0,
    floor: { leaderEpoch: 0, producerId: 0 },
    sessions: { isAlive: () => false, touch() {}, end() {} },
    topicConfig: topic => new TopicConfig(image.configsOf(RESOURCE_TYPE.topic, topic), new BrokerConfig({})),
    append(...records: MetadataRecord[]) {
      for (const record of records) image.apply(decodeMetadataRecord(encodeMetadataRecord(record)))
    },
  }
  const { isr, leader, replicas = [1, 2, 3], fenced = [] } = partition
  for (const brokerId of [1, 2, 3]) {
    context.append({
      type: 'registerBroker',
      brokerId,
      brokerEpoch: brokerId,
      host: 'h',
      port: 1,
      fenced: fenced.includes(brokerId),
    })
  }
  const topicId = ZERO_UUID.replace('A', 'B')
  context.append({ type: 'topic', name: 't', topicId })
  context.append({
    type: 'partition',
    topicId,
    partitionId: 0,
    replicas,
    isr,
    leader,
    leaderEpoch: 5,
    partitionEpoch: 7,
  })
  return {
    partition: () => image.partition('t', 0),
    elect(electionType: number, everywhere = false) {
      const topicPartitions = everywhere ? null : [{ topic: 't', partitions: [0] }]
      const request = { electionType, topicPartitions, timeoutMs: 1 }
      const { replicaElectionResults = [] } = electLeadersDecision({ request, apiVersion: 2, brokerId: 1 }, context)
      return replicaElectionResults[0].partitionResult?.[0]?.errorCode
    },
    alterIsr(isr: number[]) {
      const { leaderEpoch, partitionEpoch, leader } = image.partition('t', 0) as PartitionImage
      const members = isr.map(brokerId => ({ brokerId, brokerEpoch: brokerId }))
      const proposal = { topicId, partitionId: 0, leaderEpoch, partitionEpoch, isr: members, leaderRecoveryState: 0 }
      return alterPartition({ brokerId: leader, brokerEpoch: leader, partitions: [proposal] }, context).partitions[0]
        .error
    },
    reassign(replicas: number[] | null, allowReplicationFactorChange = true) {
      const topics = [{ name: 't', partitions: [{ partitionIndex: 0, replicas }] }]
      const request = { topics, allowReplicationFactorChange, timeoutMs: 1 }
      const { responses = [] } = alterPartitionReassignmentsDecision({ request, apiVersion: 1, brokerId: 1 }, context)
      return responses[0].partitions?.[0].errorCode
    },
  }
}

describe('preferred elections', () => {
  it('make the first replica the leader, in a new epoch', () => {
    for (const everywhere of [false, true]) {
      const { elect, partition } = start({ isr: [1, 2], leader: 2 })
      expect(elect(PREFERRED, everywhere)).toBe(0)
      expect(partition()).toMatchObject({ leader: 1, isr: [1, 2], leaderEpoch: 6, partitionEpoch: 8 })
      expect(elect(PREFERRED)).toBe(ERROR_CODES.ELECTION_NOT_NEEDED)
      expect(elect(PREFERRED, true)).toBeUndefined()
    }
  })

  it('fail while it is behind or gone', () => {
    const { PREFERRED_LEADER_NOT_AVAILABLE } = ERROR_CODES
    expect(start({ isr: [2], leader: 2 }).elect(PREFERRED)).toBe(PREFERRED_LEADER_NOT_AVAILABLE)
    expect(start({ isr: [1, 2], leader: 2, fenced: [1] }).elect(PREFERRED)).toBe(PREFERRED_LEADER_NOT_AVAILABLE)
  })
})

describe('unclean elections', () => {
  it('are only for partitions that nobody leads', () => {
    expect(start({ isr: [2], leader: 2 }).elect(UNCLEAN)).toBe(ERROR_CODES.ELECTION_NOT_NEEDED)
  })

  it('take who is in sync before who only lives, and then nobody else is in sync', () => {
    const clean = start({ isr: [3], leader: -1 })
    expect(clean.elect(UNCLEAN)).toBe(0)
    expect(clean.partition()).toMatchObject({ leader: 3, isr: [3] })
    const unclean = start({ isr: [3], leader: -1, fenced: [1, 3] })
    expect(unclean.elect(UNCLEAN)).toBe(0)
    expect(unclean.partition()).toMatchObject({ leader: 2, isr: [2], leaderEpoch: 6 })
  })

  it('fail when nobody lives', () => {
    const { elect } = start({ isr: [3], leader: -1, fenced: [1, 2, 3] })
    expect(elect(UNCLEAN)).toBe(ERROR_CODES.ELIGIBLE_LEADERS_NOT_AVAILABLE)
  })
})

describe('reassignments', () => {
  it('to the same brokers in another order are done at once: another one is preferred', () => {
    const { reassign, elect, partition } = start({ isr: [1, 2, 3], leader: 1 })
    expect(reassign([2, 1, 3])).toBe(0)
    expect(partition()).toMatchObject({ replicas: [2, 1, 3], leader: 1, leaderEpoch: 5, partitionEpoch: 8 })
    expect(reassign([2, 1, 3])).toBe(0)
    expect(partition()?.partitionEpoch).toBe(8)
    expect(elect(PREFERRED)).toBe(0)
    expect(partition()?.leader).toBe(2)
  })

  it('to other brokers add them first, and take the old ones away once the new are in sync', () => {
    const { reassign, partition, alterIsr } = start({ isr: [1, 2], leader: 1, replicas: [1, 2] })
    expect(reassign([3, 2])).toBe(0)
    expect(partition()).toMatchObject({
      replicas: [3, 2, 1],
      addingReplicas: [3],
      removingReplicas: [1],
      leader: 1,
      leaderEpoch: 5,
    })
    expect(alterIsr([1, 2, 3])).toBe('NEW_LEADER_ELECTED')
    expect(partition()).toMatchObject({
      replicas: [3, 2],
      isr: [2, 3],
      addingReplicas: [],
      removingReplicas: [],
      leader: 3,
      leaderEpoch: 6,
    })
  })

  it('can be cancelled, and replaced by others, while they are under way', () => {
    const { reassign, partition } = start({ isr: [1], leader: 1, replicas: [1] })
    expect(reassign(null)).toBe(ERROR_CODES.NO_REASSIGNMENT_IN_PROGRESS)
    expect(reassign([2])).toBe(0)
    expect(reassign([3])).toBe(0)
    expect(partition()).toMatchObject({ replicas: [3, 1], addingReplicas: [3], removingReplicas: [1] })
    expect(reassign(null)).toBe(0)
    expect(partition()).toMatchObject({ replicas: [1], isr: [1], addingReplicas: [], removingReplicas: [], leader: 1 })
  })

  it('are refused where they make no sense, or change how many there are without leave', () => {
    const { reassign } = start({ isr: [1, 2], leader: 1, replicas: [1, 2] })
    expect(reassign([1, 7])).toBe(ERROR_CODES.INVALID_REPLICA_ASSIGNMENT)
    expect(reassign([1, 1])).toBe(ERROR_CODES.INVALID_REPLICA_ASSIGNMENT)
    expect(reassign([1], false)).toBe(ERROR_CODES.INVALID_REPLICATION_FACTOR)
    expect(reassign([1])).toBe(0)
  })
})
