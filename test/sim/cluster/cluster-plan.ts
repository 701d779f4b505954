/** What a seed decides about a simulation of several brokers: besides what it decides about one, the links and what happens to them. */

import { Chance } from '../chance.ts'
import { drawCompaction, drawPlan, type Plan, type WantedPlan } from '../plan.ts'

/** How often each fault happens while work is done. */
export interface ClusterFaults {
  /** Connections of clients break, in the middle of a frame or not. */
  readonly resets: number
  /** Clients do not reach a broker, for a while. */
  readonly cutOffs: number
  /** A client takes nothing of what it is sent, for a while. */
  readonly slowReaders: number
  readonly memberChanges: number
  readonly kills: number
  readonly powerCuts: number
  readonly stops: number
  readonly pauses: number
  /** One way between two nodes, or both, carries nothing. */
  readonly linkCuts: number
  /** A broker reaches no other, nor the controller. */
  readonly isolations: number
  readonly slowLinks: number
  readonly doubledLinks: number
  readonly elections: number
  /** A broker's clock goes on by itself, or back. */
  readonly clockJumps: number
  /** A partition gets other replicas. */
  readonly reassignments: number
  /** Somebody deletes the records of a partition up to some offset. */
  readonly deletions: number
  /** The disk of one broker fails now and then, for a while. */
  readonly diskErrors: number
  /** On the disk of one broker is no room, for a while. */
  readonly fullDisks: number
  /** The process in which all brokers and the controller live is killed, loses the power of its machine, or is stopped in good order. */
  readonly clusterKills: number
  readonly clusterPowerCuts: number
  readonly clusterStops: number
}

export interface ClusterPlan extends Omit<Plan, 'faults'> {
  /** The controller keeps what it decides on a disk of its own; otherwise in memory, and then it neither dies nor forgets. */
  readonly controllerHasDisk: boolean
  /** The first topic and `__consumer_offsets` are compacted, by each replica for itself. */
  readonly compacts: boolean
  /** Who is not in sync may be elected. */
  readonly unclean: boolean
  /** How long each message between nodes is on its way when nothing is wrong. */
  readonly linkDelayMs: number
  readonly faults: ClusterFaults
}

/** What is settled before the seed decides the rest. */
export type WantedClusterPlan = Partial<Omit<ClusterPlan, 'faults'>> & { readonly faults?: Partial<ClusterFaults> }

/** @param seed the same from which `chance` comes */
export function drawClusterPlan(seed: number, chance: Chance, wanted: WantedClusterPlan = {}): ClusterPlan {
  const { faults: wantedFaults, unclean: wantedUnclean, linkDelayMs, compacts, ...more } = wanted
  const { configs, topics, offsetsTopic, ...base } = drawPlan(chance.fork(), more as WantedPlan)
  const hasDisks = base.storage === 'disk'
  const unclean = wantedUnclean ?? chance.maybe(0.1)
  const compaction = drawClusterCompaction(Chance.for(seed, 'compaction'), compacts)
  const rest = {
    ...base,
    brokerIds: [1, 2, 3],
    administers: false,
    unclean,
    linkDelayMs: linkDelayMs ?? chance.pick([1, 1, 3, 10]),
    configs: {
      ...configs,
      'broker.session.timeout.ms': '1000',
      'broker.heartbeat.interval.ms': '300',
      'replica.lag.time.max.ms': String(chance.pick([800, 1500])),
      'replica.fetch.wait.max.ms': String(chance.pick([50, 300])),
      'replica.fetch.backoff.ms': '100',
      'leader.imbalance.check.interval.seconds': String(chance.pick([2, 10])),
      'default.replication.factor': '3',
      'offsets.topic.replication.factor': '3',
      'min.insync.replicas': chance.pick(['1', '2', '2']),
      'unclean.leader.election.enable': String(unclean),
      // Each replica cleans by itself, and then they do not hold the same bytes.
      'log.cleaner.enable': String(compaction !== undefined),
    },
    topics: topics.map(({ name, partitions, configs }, index) => ({
      name,
      partitions,
      isCompacted: index === 0 && compaction !== undefined,
      configs: {
        ...pick(configs, ['internal.segment.bytes', 'retention.bytes']),
        ...(index === 0 && compaction),
      },
    })),
    offsetsTopic,
  }
  const ofBrokers = drawFaults(chance, hasDisks)
  const ofAll = hasDisks ? drawClusterWide(Chance.for(seed, 'cluster-wide faults')) : NO_CLUSTER_WIDE
  const isHit = controllerDies({ ...ofAll, ...wantedFaults })
  // A process that cannot begin on a disk that fails is another matter: here all have to.
  const onGoodDisks = isHit ? { diskErrors: 0, fullDisks: 0 } : {}
  return {
    ...rest,
    compacts: compaction !== undefined,
    controllerHasDisk: isHit,
    faults: { ...ofBrokers, ...ofAll, ...onGoodDisks, ...wantedFaults },
  }
}

/** What the first topic is set to; undefined where nothing is compacted. */
function drawClusterCompaction(chance: Chance, wanted?: boolean): Record<string, string> | undefined {
  const compacts = chance.maybe(0.2)
  const configs = { ...drawCompaction(chance), 'internal.segment.bytes': String(chance.pick([1000, 4000])) }
  return (wanted ?? compacts) ? configs : undefined
}

type ClusterWide = Pick<ClusterFaults, 'clusterKills' | 'clusterPowerCuts' | 'clusterStops'>

const NO_CLUSTER_WIDE: ClusterWide = { clusterKills: 0, clusterPowerCuts: 0, clusterStops: 0 }

function controllerDies({ clusterKills, clusterPowerCuts, clusterStops }: ClusterWide): boolean {
  return clusterKills + clusterPowerCuts + clusterStops > 0
}

function drawClusterWide(chance: Chance): ClusterWide {
  const some = (probability: number, most: number) => (chance.maybe(probability) ? chance.between(1, most) : 0)
  return { clusterKills: some(0.1, 2), clusterPowerCuts: some(0.1, 2), clusterStops: some(0.05, 1) }
}

function pick(configs: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(configs).filter(([name]) => names.includes(name)))
}

function drawFaults(chance: Chance, hasDisks: boolean): Omit<ClusterFaults, keyof ClusterWide> {
  const some = (probability: number, most: number) => (chance.maybe(probability) ? chance.between(1, most) : 0)
  return {
    resets: some(0.4, 10),
    cutOffs: some(0.2, 2),
    slowReaders: some(0.2, 4),
    memberChanges: some(0.3, 4),
    kills: some(0.6, 4),
    powerCuts: some(0.4, 3),
    stops: some(0.3, 2),
    pauses: some(0.3, 3),
    linkCuts: some(0.5, 5),
    isolations: some(0.4, 3),
    slowLinks: some(0.3, 4),
    doubledLinks: some(0.3, 4),
    elections: some(0.4, 6),
    clockJumps: some(0.2, 3),
    reassignments: some(0.35, 5),
    deletions: some(0.3, 8),
    diskErrors: hasDisks ? some(0.15, 3) : 0,
    fullDisks: hasDisks ? some(0.1, 2) : 0,
  }
}
