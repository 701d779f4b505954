import { describe, expect, it } from 'vitest'
import { BrokerConfig } from '../../broker/configs/broker-config.ts'
import { TopicConfig } from '../../broker/configs/topic-config.ts'
import { MetadataImage, type PartitionImage, RESOURCE_TYPE } from '../../broker/metadata/image.ts'
import { decodeMetadataRecord, encodeMetadataRecord, type MetadataRecord } from '../../broker/metadata/records.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import { ZERO_UUID } from '../../util/uuid.ts'
import { VirtualEnv } from '../../util/virtual-env.ts'
import type { DecisionContext } from '../decision-context.ts'
import { alterPartition } from './alter-partition.ts'
import { admitBroker, balanceLeaders, distrustBroker, electUncleanly, withdrawBroker } from './broker-changes.ts'
import { electLeadersDecision } from './elect-leaders.ts'
import { failReplicas } from './fail-replicas.ts'
import { alterPartitionReassignmentsDecision } from './reassign-partitions.ts'
import { registerBroker } from './registration.ts'

const PREFERRED = 0
const UNCLEAN = 1

/** Brokers 1 to 3, of which some are fenced, and one partition. */
function start(partition: { isr: number[]; leader: number; replicas?: number[]; fenced?: number[] }) {
  const image = new MetadataImage()
  const context: DecisionContext = {
    image,
    env: new VirtualEnv(),
    config: new BrokerConfig({}),
    nextOffset: 0,
    appended: 0,
    floor: { leaderEpoch: 0, producerId: 0 },
    quorum: { leaderId: 3000, highWatermark: 0, observers: () => [] },
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
    context,
    partition: () => image.partition('t', 0),
    fail: (brokerId: number) =>
      failReplicas({ brokerId, brokerEpoch: brokerId, partitions: [{ topicId, partitionId: 0 }] }, context).error,
    isOffline: (brokerId: number) => image.isReplicaOffline(brokerId, topicId, 0),
    allowUnclean() {
      const name = 'unclean.leader.election.enable'
      context.append({ type: 'config', resourceType: RESOURCE_TYPE.topic, resourceName: 't', name, value: 'true' })
    },
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

describe('a replica whose log failed, on a broker that lives', () => {
  it('leads no more, is in sync no more, and everybody can know that it is offline', () => {
    const { fail, partition, isOffline } = start({ isr: [1, 2], leader: 1 })
    expect(fail(1)).toBe('NONE')
    expect(partition()).toMatchObject({ leader: 2, isr: [2], leaderEpoch: 6 })
    expect([1, 2, 3].filter(isOffline)).toEqual([1])
    // Told again, it changes nothing.
    expect(fail(1)).toBe('NONE')
    expect(partition()).toMatchObject({ leader: 2, isr: [2], leaderEpoch: 6, partitionEpoch: 8 })
  })

  it('is not elected when an admin asks, neither as the preferred leader nor uncleanly', () => {
    const preferred = start({ isr: [1, 2], leader: 2 })
    preferred.fail(1)
    expect(preferred.elect(PREFERRED)).toBe(ERROR_CODES.PREFERRED_LEADER_NOT_AVAILABLE)
    const unclean = start({ isr: [], leader: -1, fenced: [3] })
    unclean.fail(1)
    expect(unclean.elect(UNCLEAN)).toBe(0)
    expect(unclean.partition()).toMatchObject({ leader: 2, isr: [2] })
    const none = start({ isr: [], leader: -1, fenced: [2, 3] })
    none.fail(1)
    expect(none.elect(UNCLEAN)).toBe(ERROR_CODES.ELIGIBLE_LEADERS_NOT_AVAILABLE)
  })

  it('is not taken among those in sync, though its leader asks for it', () => {
    const { fail, alterIsr, partition } = start({ isr: [1], leader: 1 })
    fail(2)
    expect(alterIsr([1, 2])).toBe('INELIGIBLE_REPLICA')
    expect(alterIsr([1, 3])).toBe('NONE')
    expect(partition()).toMatchObject({ isr: [1, 3], leader: 1 })
  })

  it('does not lead after a reassignment, whether that is new, completed or cancelled', () => {
    const moved = start({ isr: [1, 2, 3], leader: 1 })
    moved.fail(2)
    expect(moved.reassign([2, 3])).toBe(0)
    expect(moved.partition()).toMatchObject({ replicas: [2, 3], leader: 3, isr: [3] })
    const completed = start({ isr: [1, 2], leader: 1, replicas: [1, 2] })
    completed.fail(2)
    expect(completed.reassign([2, 3])).toBe(0)
    expect(completed.alterIsr([1, 3])).toBe('NEW_LEADER_ELECTED')
    expect(completed.partition()).toMatchObject({ replicas: [2, 3], leader: 3, isr: [3] })
    const cancelled = start({ isr: [1, 2], leader: 1, replicas: [1, 2] })
    expect(cancelled.reassign([3])).toBe(0)
    cancelled.fail(1)
    expect(cancelled.reassign(null)).toBe(0)
    expect(cancelled.partition()).toMatchObject({ replicas: [1, 2], leader: 2, isr: [2] })
  })

  it('is not elected when others go, come, or are balanced', () => {
    const gone = start({ isr: [1, 2, 3], leader: 3 })
    gone.fail(1)
    withdrawBroker(3, gone.context)
    expect(gone.partition()).toMatchObject({ leader: 2, isr: [2] })
    const distrusted = start({ isr: [1, 2], leader: 2, replicas: [1, 2] })
    distrusted.allowUnclean()
    distrusted.fail(1)
    distrustBroker(2, distrusted.context)
    expect(distrusted.partition()).toMatchObject({ leader: -1 })
    const back = start({ isr: [], leader: -1 })
    back.fail(1)
    back.allowUnclean()
    admitBroker(1, back.context)
    expect(back.partition()).toMatchObject({ leader: 2 })
    const unclean = start({ isr: [], leader: -1 })
    unclean.fail(1)
    unclean.allowUnclean()
    electUncleanly(unclean.context)
    expect(unclean.partition()).toMatchObject({ leader: 2 })
    const balanced = start({ isr: [2, 3], leader: 2 })
    balanced.fail(1)
    balanceLeaders(balanced.context)
    expect(balanced.partition()).toMatchObject({ leader: 2 })
  })

  it('is as good as any other once the broker is started again', () => {
    const { fail, partition, isOffline, context } = start({ isr: [1], leader: 1, replicas: [1] })
    fail(1)
    expect(partition()).toMatchObject({ leader: -1, isr: [], elr: [1] })
    const address = { host: 'h', port: 1, rack: null, incarnationId: ZERO_UUID.replace('A', 'C') }
    registerBroker({ brokerId: 1, ...address, sendsHeartbeats: false, previousBrokerEpoch: 'same' }, context)
    expect(isOffline(1)).toBe(false)
    expect(partition()).toMatchObject({ leader: 1, isr: [1] })
  })

  it('is another one when it was moved away and comes back', () => {
    const { fail, isOffline, reassign, alterIsr } = start({ isr: [1, 2], leader: 1, replicas: [1, 2] })
    fail(2)
    expect(reassign([1])).toBe(0)
    expect(isOffline(2)).toBe(false)
    expect(reassign([1, 2])).toBe(0)
    expect(alterIsr([1, 2])).toBe('NONE')
  })
})
