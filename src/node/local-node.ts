/**
 * What one broker of a cluster does in the thread in which it runs when it is asked: the one implementation of {@link NodeMethods}; all others
 * pass calls on to it.
 */
import type { BrokerCounts } from '../broker/counters.ts'
import type { FaultRule } from '../broker/faults/fault-rule.ts'
import type { TallyCells } from '../broker/faults/tally.ts'
import { coordinatedGroup } from '../broker/group-view.ts'
import { CONSUMER_OFFSETS } from '../broker/internal-topics.ts'
import type { Partition } from '../broker/partition.ts'
import { appendToPartition, clearPartition, readPartition, type TopicRecordInput } from '../broker/topic-access.ts'
import { KafkaError } from '../protocol/errors.ts'
import type { FaultId } from './broker-methods.ts'
import { OttlaError } from './errors.ts'
import { inEvent } from './in-event.ts'
import { LocalCalls } from './local-calls.ts'
import type { NodeMethods } from './node-methods.ts'

export class LocalNode extends LocalCalls implements NodeMethods {
  /** How many events there were since somebody asked first, and who waits for the next. */
  #events = 1
  #countEvents: (() => void) | undefined
  readonly #watching: ((events: number) => void)[] = []

  async offsetsOf(topicId: string, partitions: readonly number[]) {
    return partitions.map(index => {
      const { log, highWatermarkLags } = this.#led(topicId, index)
      const { logStartOffset, highWatermark } = log
      return { logStartOffset, highWatermark, highWatermarkLags }
    })
  }

  async readRecords(topicId: string, partitions: readonly number[]) {
    return partitions.map(index => readPartition(this.broker, this.#led(topicId, index)))
  }

  async appendRecords(topicId: string, index: number, records: readonly TopicRecordInput[], timeoutMs: number) {
    const partition = this.#led(topicId, index)
    const { leaderEpoch, topic } = partition
    const baseOffset = inEvent(this.env, () => appendToPartition(this.broker, partition, records))
    return this.waits.for({
      what: `${records.length} records to be in all in-sync replicas of ${topic}-${index}`,
      timeoutMs,
      look: () => {
        if (partition.gone || !partition.isLeader || partition.leaderEpoch !== leaderEpoch)
          throw leaderMoved(topic, index)
        return partition.highWatermark >= baseOffset + records.length ? baseOffset : undefined
      },
      seen: () => `${partition.highWatermark} as high watermark`,
    })
  }

  async clearRecords(topicId: string, partitions: readonly number[]) {
    const led = partitions.map(index => this.#led(topicId, index))
    inEvent(this.env, () => {
      for (const partition of led) clearPartition(this.broker, partition)
    })
  }

  /** @throws KafkaError when somebody else leads it, as far as this broker knows */
  #led(topicId: string, index: number): Partition {
    const { replicas, id, image } = this.broker
    const partition = replicas.find(topicId, index)
    if (partition?.isLeader) return partition
    const name = `${image.topicsById.get(topicId)?.name ?? topicId}-${index}`
    throw new KafkaError('NOT_LEADER_OR_FOLLOWER', `broker ${id} has not heard that it leads ${name}`)
  }

  async coordinatedGroup(groupId: string) {
    const { groups, id } = this.broker
    const partition = groups.partitionFor(groupId)
    if (groups.machine(partition) === undefined) {
      throw new KafkaError('LEADER_NOT_AVAILABLE', `broker ${id} has not loaded ${CONSUMER_OFFSETS}-${partition}`)
    }
    return coordinatedGroup(this.broker, groupId)
  }

  changed(since: number): Promise<number> {
    this.#countEvents ??= this.env.afterEvents(() => {
      this.#events++
      for (const resolve of this.#watching.splice(0)) resolve(this.#events)
    })
    if (this.#events > since) return Promise.resolve(this.#events)
    return new Promise(resolve => this.#watching.push(resolve))
  }

  async loadedCoordinators() {
    const { groups, image } = this.broker
    const partitions = image.topicsByName.get(CONSUMER_OFFSETS)?.partitions ?? []
    return partitions.map(({ partitionId }) => partitionId).filter(id => groups.machine(id) !== undefined)
  }

  async counters(): Promise<BrokerCounts> {
    const { requests, topics, refusedConnections } = this.broker.counters
    return { requests, topics, refusedConnections }
  }

  async addFault(rule: FaultRule, tally: TallyCells) {
    return this.faults.add(rule, tally)
  }

  async heldBy(id: FaultId) {
    return this.faults.held(id)
  }

  async releaseFrom(id: FaultId, last?: number) {
    return this.faults.release(id, last)
  }
}

/** Nobody knows what became of records that a leader had taken. */
export function leaderMoved(topic: string, partition: number): OttlaError {
  const text = `the leader of ${topic}-${partition} changed before all in-sync replicas had the records`
  return new OttlaError('OTTLA_TIMEOUT', text, { hint: 'they may be there or not; await cluster.settled() first' })
}
