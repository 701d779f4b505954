/** Everything that a broker knows and that its disk must give back: what is compared between a process and one that took its place. */

import { isInternalTopic } from '../../src/broker/internal-topics.ts'
import type { Log } from '../../src/log/log.ts'
import type { ProducerEntry } from '../../src/log/producer-state.ts'
import { KafkaError } from '../../src/protocol/errors.ts'
import type { RunningBroker } from './broker-process.ts'

export interface BrokerState {
  readonly metadata: Readonly<Record<string, unknown>>
  /** By partition of `__consumer_offsets`. */
  readonly groups: Readonly<Record<string, unknown>>
  /** By topic id and partition; only those that are open. */
  readonly logs: Readonly<Record<string, LogState>>
}

export interface LogState {
  readonly name: string
  readonly startOffset: number
  readonly endOffset: number
  readonly producers: unknown
  readonly epoch: number
}

/** @param opensAll whether logs that nobody has used are opened to be looked at */
export function stateOf({ broker }: RunningBroker, opensAll = false): BrokerState {
  const { image } = broker
  const metadata: Record<string, unknown> = { nextProducerId: image.nextProducerId }
  for (const { name, topicId, partitions } of image.topicsById.values()) {
    const configs = [...image.configsOf(2, name)].sort()
    // A broker that comes back is elected anew, so epochs and leaders may be others.
    metadata[`${name} ${topicId}`] = { configs, replicas: partitions.map(({ replicas }) => replicas) }
  }
  const groups: Record<string, unknown> = {}
  const logs: Record<string, LogState> = {}
  for (const partition of broker.replicas.all()) {
    if (isInternalTopic(partition.topic)) {
      const machine = broker.groups.machine(partition.index)
      if (machine !== undefined) groups[partition.index] = sortedState(machine.hardState())
    }
    try {
      const log = opensAll ? partition.log : partition.openedLog
      if (log === undefined) continue
      logs[partition.key] = {
        name: `${partition.topic}-${partition.index}`,
        startOffset: log.logStartOffset,
        endOffset: log.logEndOffset,
        epoch: log.latestEpoch,
        producers: log
          .producers()
          .map(producer => remembered(log, producer))
          .filter(({ batches }) => batches.length > 0)
          .sort((a, b) => a.producerId - b.producerId),
      }
    } catch (error) {
      // It is offline.
      if (!(error instanceof KafkaError)) throw error
    }
  }
  return structuredClone({ metadata, groups, logs })
}

/**
 * Of what was compacted away only the last batch is known after a start, and of what was deleted perhaps none, as in Kafka. A batch that lost its
 * newest record says an earlier time.
 */
function remembered(log: Log, { batches, lastTimestamp, ...producer }: ProducerEntry) {
  const there = batches.filter(({ lastOffset }) => lastOffset >= log.logStartOffset)
  if (!log.config.compact) return { ...producer, lastTimestamp, batches: there }
  return { ...producer, batches: there.slice(-1).map(({ timestamp: _, ...batch }) => batch) }
}

function sortedState({ groups, offsets }: { groups: Map<string, unknown>; offsets: Map<string, unknown> }) {
  return { groups: [...groups].sort(byName), offsets: [...offsets].sort(byName) }
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0
}
