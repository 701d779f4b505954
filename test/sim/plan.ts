/** What a seed decides before anything happens: the cluster, the clients, and which faults there will be. */

import { assignors } from '../../src/client/index.ts'
import type { Chance } from './chance.ts'
import type { NetworkConditions } from './network.ts'

export interface PlannedTopic {
  readonly name: string
  readonly partitions: number
  readonly isCompacted: boolean
  readonly configs: Readonly<Record<string, string>>
}

export interface PlannedProducer {
  readonly name: string
  readonly acks: -1 | 0 | 1
  readonly idempotent: boolean
  readonly compression: 'none' | 'gzip'
  readonly lingerMs: number
  readonly batchBytes: number
  readonly pauseMs: number
}

export interface PlannedGroup {
  readonly id: string
  readonly topics: readonly string[]
  readonly members: number
  readonly assignor: (typeof assignors)[number]
}

/** How often each fault happens while work is done, on average. */
export interface PlannedFaults {
  readonly resets: number
  readonly cutOffs: number
  readonly memberChanges: number
  readonly kills: number
  readonly powerCuts: number
  readonly stops: number
  readonly diskErrors: number
  readonly fullDisks: number
  readonly shortWrites: number
  readonly flips: number
}

export interface Plan {
  readonly storage: 'memory' | 'disk'
  /** What an acknowledgement waits for: see docs/durability.md. */
  readonly flush: 'os' | 'commit'
  readonly brokerIds: readonly number[]
  readonly configs: Readonly<Record<string, string>>
  readonly topics: readonly PlannedTopic[]
  /** `__consumer_offsets`, made beforehand, that its segments may be small. */
  readonly offsetsTopic: PlannedTopic
  readonly producers: readonly PlannedProducer[]
  readonly groups: readonly PlannedGroup[]
  readonly network: NetworkConditions
  readonly faults: PlannedFaults
  /** How many files a broker may have open. */
  readonly maxOpenFiles: number
  /** Topics are created and deleted, records are deleted. */
  readonly administers: boolean
  readonly workMs: number
}

const NO_FAULTS: PlannedFaults = {
  resets: 0,
  cutOffs: 0,
  memberChanges: 0,
  kills: 0,
  powerCuts: 0,
  stops: 0,
  diskErrors: 0,
  fullDisks: 0,
  shortWrites: 0,
  flips: 0,
}

/** What is settled before the seed decides the rest. */
export type WantedPlan = Partial<Omit<Plan, 'faults'>> & { readonly faults?: Partial<PlannedFaults> }

export function drawPlan(chance: Chance, wanted: WantedPlan = {}): Plan {
  const storage = wanted.storage ?? (chance.maybe(0.15) ? 'memory' : 'disk')
  const flush = wanted.flush ?? (storage === 'disk' && chance.maybe(0.6) ? 'commit' : 'os')
  const topics = drawTopics(chance)
  const names = topics.map(({ name }) => name)
  const producers = Array.from({ length: chance.between(1, 3) }, (_, index) => drawProducer(chance, `p${index + 1}`))
  const groups = Array.from({ length: chance.between(0, 2) }, (_, index) => ({
    id: `g${index + 1}`,
    topics: chance.shuffled(names).slice(0, chance.between(1, names.length)),
    members: chance.between(1, 3),
    assignor: chance.pick(assignors),
  }))
  const offsetsPartitions = chance.between(1, 3)
  const slow = chance.maybe(0.2)
  return {
    storage,
    flush,
    brokerIds: [1],
    configs: {
      'group.initial.rebalance.delay.ms': '0',
      'group.min.session.timeout.ms': '1000',
      'log.segment.delete.delay.ms': String(chance.pick([100, 5000])),
      'log.cleaner.backoff.ms': String(chance.pick([50, 500, 15_000])),
      'offsets.topic.num.partitions': String(offsetsPartitions),
      'log.retention.check.interval.ms': String(chance.pick([1000, 5000, 300_000])),
      ...(flush === 'commit' ? { 'log.flush.interval.messages': '1' } : {}),
    },
    topics,
    offsetsTopic: {
      name: '__consumer_offsets',
      partitions: offsetsPartitions,
      isCompacted: true,
      configs: {
        'cleanup.policy': 'compact',
        'internal.segment.bytes': String(chance.pick([5000, 50_000, 1_000_000])),
        'min.cleanable.dirty.ratio': chance.pick(['0.01', '0.5']),
      },
    },
    producers,
    groups,
    network: {
      minLatencyMs: 1,
      maxLatencyMs: slow ? 60 : chance.pick([1, 3, 10]),
      splits: chance.pick([0, 0.05, 0.3]),
    },
    maxOpenFiles: chance.pick([4, 8, 1000]),
    administers: chance.maybe(0.5),
    workMs: chance.between(2000, 10_000),
    ...wanted,
    faults: { ...drawFaults(chance, storage), ...wanted.faults },
  }
}

function drawTopics(chance: Chance): PlannedTopic[] {
  return Array.from({ length: chance.between(1, 3) }, (_, index) => {
    const isCompacted = chance.maybe(0.25)
    return {
      name: `t${index + 1}`,
      partitions: chance.between(1, 3),
      isCompacted,
      configs: {
        'internal.segment.bytes': String(chance.pick([1000, 4000, 20_000, 1_000_000])),
        'index.interval.bytes': String(chance.pick([1, 200, 4096])),
        ...(isCompacted ? drawCompaction(chance) : {}),
        ...(!isCompacted && chance.maybe(0.2) ? { 'retention.bytes': String(chance.between(4000, 30_000)) } : {}),
      },
    }
  })
}

export function drawCompaction(chance: Chance): Record<string, string> {
  return {
    'cleanup.policy': 'compact',
    'min.cleanable.dirty.ratio': chance.pick(['0.01', '0.5']),
    'min.compaction.lag.ms': chance.pick(['0', '500']),
    'delete.retention.ms': chance.pick(['0', '1000', '86400000']),
  }
}

function drawProducer(chance: Chance, name: string): PlannedProducer {
  const idempotent = chance.maybe(0.7)
  return {
    name,
    idempotent,
    acks: idempotent ? -1 : chance.pick([-1, 1, 1, 0] as const),
    compression: chance.maybe(0.2) ? 'gzip' : 'none',
    lingerMs: chance.pick([0, 0, 5, 20]),
    batchBytes: chance.pick([60, 500, 16_384]),
    pauseMs: chance.pick([10, 30, 100]),
  }
}

function drawFaults(chance: Chance, storage: Plan['storage']): PlannedFaults {
  const some = (probability: number, most: number) => (chance.maybe(probability) ? chance.between(1, most) : 0)
  const anywhere = {
    ...NO_FAULTS,
    resets: some(0.5, 20),
    cutOffs: some(0.3, 3),
    memberChanges: some(0.4, 6),
  }
  if (storage === 'memory') return anywhere
  return {
    ...anywhere,
    kills: some(0.5, 4),
    powerCuts: some(0.5, 4),
    stops: some(0.2, 2),
    diskErrors: some(0.15, 3),
    fullDisks: some(0.15, 3),
    shortWrites: some(0.2, 3),
    flips: some(0.08, 2),
  }
}
