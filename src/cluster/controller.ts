import type { BrokerConfig } from '../broker/configs/broker-config.ts'
import { TopicConfig } from '../broker/configs/topic-config.ts'
import type { ControllerMessageKind, ControllerMessages, MetadataUpdate } from '../broker/link.ts'
import { MetadataImage, RESOURCE_TYPE } from '../broker/metadata/image.ts'
import { imageRecords } from '../broker/metadata/image-records.ts'
import { type AppliedRecord, decodeMetadataRecord, encodeMetadataRecord } from '../broker/metadata/records.ts'
import type { Decision } from '../coordinator/decision.ts'
import type { CoordinatorRecord } from '../coordinator/ports.ts'
import { CoordinatorRuntime, type Machine } from '../coordinator/runtime.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import type { ClusterFloor, DecisionContext, Quorum } from './decision-context.ts'
import { alterClientQuotasDecision } from './decisions/alter-client-quotas.ts'
import { alterConfigsDecision, incrementalAlterConfigsDecision } from './decisions/alter-configs.ts'
import { alterPartition } from './decisions/alter-partition.ts'
import { alterUserScramCredentialsDecision } from './decisions/alter-scram-credentials.ts'
import { balanceLeaders, electUncleanly } from './decisions/broker-changes.ts'
import { createPartitionsDecision } from './decisions/create-partitions.ts'
import { createTopicsDecision } from './decisions/create-topics.ts'
import { deleteTopicsDecision } from './decisions/delete-topics.ts'
import { describeQuorumDecision } from './decisions/describe-quorum.ts'
import { electLeadersDecision } from './decisions/elect-leaders.ts'
import { failReplicas } from './decisions/fail-replicas.ts'
import { raiseLeaderEpochs } from './decisions/raise-leader-epochs.ts'
import {
  alterPartitionReassignmentsDecision,
  listPartitionReassignmentsDecision,
} from './decisions/reassign-partitions.ts'
import {
  allocateProducerIds,
  brokerHeartbeat,
  fenceBroker,
  registerBroker,
  unregisterBroker,
} from './decisions/registration.ts'
import { updateFeaturesDecision } from './decisions/update-features.ts'
import type { MetadataLog } from './metadata-log.ts'
import { Sessions } from './sessions.ts'

/**
 * The controller: decides what the cluster is, writes that down, and tells every broker once it is committed. It is a state
 * machine on the same runtime as the coordinators; its decisions are functions of the image and the request, in
 * `decisions/`. Follows `QuorumController`, without a quorum: there is one, outside the brokers.
 */

type Decide<Kind extends ControllerMessageKind> = (
  request: ControllerMessages[Kind]['request'],
  context: DecisionContext,
) => ControllerMessages[Kind]['reply']

const DECISIONS: { [Kind in ControllerMessageKind]: Decide<Kind> } = {
  registerBroker,
  brokerHeartbeat,
  fenceBroker,
  unregisterBroker,
  alterPartition,
  failReplicas,
  createTopics: createTopicsDecision,
  deleteTopics: deleteTopicsDecision,
  createPartitions: createPartitionsDecision,
  alterConfigs: alterConfigsDecision,
  incrementalAlterConfigs: incrementalAlterConfigsDecision,
  alterClientQuotas: alterClientQuotasDecision,
  alterUserScramCredentials: alterUserScramCredentialsDecision,
  alterPartitionReassignments: alterPartitionReassignmentsDecision,
  listPartitionReassignments: listPartitionReassignmentsDecision,
  electLeaders: electLeadersDecision,
  describeQuorum: describeQuorumDecision,
  updateFeatures: updateFeaturesDecision,
  allocateProducerIds,
  raiseLeaderEpochs,
  tidy: ({ balance }, context) => {
    if (balance) balanceLeaders(context)
    else electUncleanly(context)
    return {}
  },
}

/** The metadata log is not compacted, so its records need no key. */
const NO_KEY = new Uint8Array(0)
/** The runtime's shards are numbered; the controller has one. */
const PARTITION = 0

/** The hard state: the image that the records add up to. */
class MetadataMachine implements Machine {
  readonly image = new MetadataImage()
  nextOffset = 0
  readonly #applied: (record: AppliedRecord, image: MetadataImage) => void

  constructor(applied: (record: AppliedRecord, image: MetadataImage) => void) {
    this.#applied = applied
  }

  apply({ value }: CoordinatorRecord, offset: number): void {
    const record = decodeMetadataRecord(value as Uint8Array)
    this.image.apply(record)
    this.nextOffset = offset + 1
    this.#applied(record, this.image)
  }

  loaded(): void {}
}

/** A broker that is told what was committed, and how it is reached. Settles with the offset up to where it knows all. */
type Tell = (update: MetadataUpdate) => Later<number | undefined>

/** One broker that is told. */
interface Subscription {
  readonly tell: Tell
  /** Up to which offset it was told, and up to which it said that it heard. */
  told: number
  heard: number
  heardAt: number
  retry: Timer | undefined
}

/** How long until a broker that was not reached is told again. */
const RETRY_MS = 100

export interface ControllerOptions {
  /** Under which id it is told. */
  readonly id: number
  readonly env: Env
  readonly config: BrokerConfig
  readonly log: MetadataLog
  readonly floor?: ClusterFloor
  /** Told of every record, once it counts. */
  readonly onRecord?: (record: AppliedRecord, image: MetadataImage) => void
  /** How many of the last records are kept for brokers that are behind; whoever lacks others is told what they add up to. */
  readonly historyRecords?: number
}

const HISTORY_RECORDS = 1000

export class Controller {
  readonly #id: number
  readonly #env: Env
  readonly #config: BrokerConfig
  readonly #runtime: CoordinatorRuntime<MetadataMachine>
  readonly #floor: ClusterFloor
  readonly #log: MetadataLog
  /** The last records, and what all before them add up to. */
  readonly #history: AppliedRecord[] = []
  readonly #base = new MetadataImage()
  #baseOffset = 0
  readonly #historyRecords: number
  readonly #subscriptions = new Map<number, Subscription>()
  readonly #sessions: Sessions
  readonly #onRecord: ControllerOptions['onRecord']
  readonly #upkeep = new Map<string, Timer>()

  constructor(options: ControllerOptions) {
    this.#id = options.id
    this.#env = options.env
    this.#config = options.config
    this.#floor = options.floor ?? { leaderEpoch: 0, producerId: 0 }
    this.#log = options.log
    this.#onRecord = options.onRecord
    this.#historyRecords = options.historyRecords ?? HISTORY_RECORDS
    this.#sessions = new Sessions({
      env: options.env,
      timeoutMs: () => options.config.number('broker.session.timeout.ms'),
      expired: brokerId => this.handle('fenceBroker', { brokerId }),
    })
    this.#runtime = new CoordinatorRuntime({
      env: options.env,
      create: () => new MetadataMachine((record, image) => this.#applied(record, image)),
      commitTimeoutMs: () => Number.MAX_SAFE_INTEGER,
    })
    this.#runtime.becomeLeader(PARTITION, options.log)
    // What was found is told as a whole: some of it may have been a snapshot.
    this.#settleHistory(this.#history.length)
    this.#baseOffset = this.#nextOffset
    // A broker that was up when the last controller ended is up, for as long as one may be silent.
    for (const { brokerId, fenced } of this.image.brokers.values()) {
      if (!fenced) this.#sessions.expect(brokerId)
    }
  }

  /** What was decided. */
  get image(): MetadataImage {
    return (this.#runtime.machine(PARTITION) as MetadataMachine).image
  }

  get #nextOffset(): number {
    return (this.#runtime.machine(PARTITION) as MetadataMachine).nextOffset
  }

  /** The offset behind the last record that counts: it is on the disk, and brokers are told no others. */
  get metadataOffset(): number {
    return Math.min(this.#nextOffset, this.#log.highWatermark)
  }

  /** The offset behind the last record that a broker said it has; 0 for one that is not told. */
  heardBy(brokerId: number): number {
    return this.#subscriptions.get(brokerId)?.heard ?? 0
  }

  /** What was set for all brokers at run time counts for the defaults of topics. */
  #applied(record: AppliedRecord, image: MetadataImage): void {
    this.#history.push(record)
    if (record.type === 'config' && record.resourceType === RESOURCE_TYPE.broker) {
      this.#config.setDynamic(new Map(), image.configsOf(RESOURCE_TYPE.broker, ''))
    }
    if (record.type === 'registerBroker' && image.brokers.size > 1) this.#keepUp()
    this.#onRecord?.(record, image)
  }

  /** With several brokers there is something to look after from time to time. */
  #keepUp(): void {
    const balanceMs = this.#config.number('leader.imbalance.check.interval.seconds') * 1000
    if (this.#config.boolean('auto.leader.rebalance.enable')) this.#every('balance', balanceMs)
    this.#every('unclean', this.#config.number('unclean.leader.election.interval.ms'))
  }

  #every(what: 'balance' | 'unclean', ms: number): void {
    if (this.#upkeep.has(what)) return
    const again = () => {
      this.#upkeep.set(
        what,
        this.#env.timer(ms, () => {
          this.handle('tidy', { balance: what === 'balance' })
          again()
        }),
      )
    }
    again()
  }

  /** Tells a broker everything from the beginning, and from now on each thing that is committed. */
  subscribe(brokerId: number, tell: Tell): void {
    this.unsubscribe(brokerId)
    const subscription = { tell, told: 0, heard: 0, heardAt: this.#env.now(), retry: undefined }
    this.#subscriptions.set(brokerId, subscription)
    this.#tell(subscription)
  }

  /** The broker is gone. */
  unsubscribe(brokerId: number): void {
    const subscription = this.#subscriptions.get(brokerId)
    subscription?.retry?.cancel()
    this.#subscriptions.delete(brokerId)
  }

  /** No timer is left. */
  close(): void {
    this.#sessions.close()
    for (const timer of this.#upkeep.values()) timer.cancel()
    for (const brokerId of [...this.#subscriptions.keys()]) this.unsubscribe(brokerId)
  }

  /**
   * Decides on a message. The brokers are told what follows from it before the reply is sent. Settles with undefined when it cannot
   * be written down: who asked is not answered.
   */
  handle<Kind extends ControllerMessageKind>(
    kind: Kind,
    request: ControllerMessages[Kind]['request'],
  ): Later<ControllerMessages[Kind]['reply'] | undefined> {
    return this.#runtime.execute<ControllerMessages[Kind]['reply'] | undefined>(
      PARTITION,
      (machine, decision) => {
        const reply = DECISIONS[kind](request, this.#context(machine, decision))
        decision.whenCommitted(() => {
          this.#publish()
          this.#trimHistory()
          this.#snapshotIfDue()
        })
        return reply
      },
      error => {
        this.#env.log('error', 'the controller cannot decide', { request: kind, error })
        return undefined
      },
    )
  }

  #snapshotIfDue(): void {
    if (!this.#log.snapshotDue) return
    const records = [...imageRecords(this.image)]
    this.#log.takeSnapshot(records.map(record => ({ key: NO_KEY, value: encodeMetadataRecord(record) })))
  }

  /** Now and then, so that it costs little for each record; never what does not count yet. */
  #trimHistory(): void {
    if (this.#history.length < 2 * this.#historyRecords) return
    this.#settleHistory(Math.min(this.#history.length - this.#historyRecords, this.metadataOffset - this.#baseOffset))
  }

  /** The first `count` records of the history are remembered by what they add up to. */
  #settleHistory(count: number): void {
    for (const record of this.#history.splice(0, count)) this.#base.apply(record)
    this.#baseOffset += count
  }

  #context({ image, nextOffset }: MetadataMachine, decision: Decision): DecisionContext {
    const config = this.#config
    return {
      image,
      env: this.#env,
      config,
      nextOffset,
      floor: this.#floor,
      quorum: this.#quorum(),
      sessions: this.#sessions,
      get appended() {
        return decision.records.length
      },
      topicConfig: topic => new TopicConfig(image.configsOf(RESOURCE_TYPE.topic, topic), config),
      append: (...records) =>
        decision.append(...records.map(record => ({ key: NO_KEY, value: encodeMetadataRecord(record) }))),
    }
  }

  #quorum(): Quorum {
    return {
      leaderId: this.#id,
      highWatermark: this.metadataOffset,
      observers: () =>
        [...this.#subscriptions].map(([brokerId, { heard: endOffset, heardAt }]) => ({ brokerId, endOffset, heardAt })),
    }
  }

  #publish(): void {
    for (const subscription of this.#subscriptions.values()) this.#tell(subscription)
  }

  /** Does not wait for what was told before: it arrives in order. What got lost is told again, from where it was heard last. */
  #tell(subscription: Subscription): void {
    const { told } = subscription
    const endOffset = this.metadataOffset
    if (told >= endOffset) return
    subscription.told = endOffset
    const base = this.#baseOffset
    const startOffset = Math.max(told, base)
    const records = this.#history.slice(startOffset - base, endOffset - base)
    const snapshot = told < base ? [...imageRecords(this.#base)] : undefined
    subscription.tell({ snapshot, startOffset, endOffset, records }).whenSettled(heard => {
      subscription.heard = Math.max(subscription.heard, heard ?? 0)
      if (heard !== undefined) subscription.heardAt = this.#env.now()
      if (subscription.heard < endOffset) this.#tellAgain(subscription)
    })
  }

  #tellAgain(subscription: Subscription): void {
    if (subscription.retry !== undefined || ![...this.#subscriptions.values()].includes(subscription)) return
    subscription.retry = this.#env.timer(RETRY_MS, () => {
      subscription.retry = undefined
      subscription.told = subscription.heard
      this.#tell(subscription)
    })
  }
}
