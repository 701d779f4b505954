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
import type { ClusterFloor, DecisionContext } from './decision-context.ts'
import { alterClientQuotasDecision } from './decisions/alter-client-quotas.ts'
import { alterConfigsDecision, incrementalAlterConfigsDecision } from './decisions/alter-configs.ts'
import { alterPartition } from './decisions/alter-partition.ts'
import { alterUserScramCredentialsDecision } from './decisions/alter-scram-credentials.ts'
import { balanceLeaders, electUncleanly } from './decisions/broker-changes.ts'
import { createPartitionsDecision } from './decisions/create-partitions.ts'
import { createTopicsDecision } from './decisions/create-topics.ts'
import { deleteTopicsDecision } from './decisions/delete-topics.ts'
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
import { FailedReplicas } from './failed-replicas.ts'
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
  /** Up to where it was told, and up to where it said that it heard. */
  told: number
  heard: number
  retry: Timer | undefined
}

/** How long until a broker that was not reached is told again. */
const RETRY_MS = 100

export interface ControllerOptions {
  readonly env: Env
  readonly config: BrokerConfig
  readonly log: MetadataLog
  readonly floor?: ClusterFloor
  /** Told of every record, once it counts. */
  readonly onRecord?: (record: AppliedRecord, image: MetadataImage) => void
}

export class Controller {
  readonly #env: Env
  readonly #config: BrokerConfig
  readonly #runtime: CoordinatorRuntime<MetadataMachine>
  readonly #floor: ClusterFloor
  readonly #log: MetadataLog
  readonly #history: AppliedRecord[] = []
  readonly #subscriptions = new Map<number, Subscription>()
  readonly #sessions: Sessions
  readonly #failedReplicas = new FailedReplicas()
  readonly #onRecord: ControllerOptions['onRecord']
  readonly #upkeep = new Map<string, Timer>()

  constructor(options: ControllerOptions) {
    this.#env = options.env
    this.#config = options.config
    this.#floor = options.floor ?? { leaderEpoch: 0, producerId: 0 }
    this.#log = options.log
    this.#onRecord = options.onRecord
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
    // A broker that was up when the last controller ended is up, for as long as one may be silent.
    for (const { brokerId, fenced } of this.image.brokers.values()) {
      if (!fenced) this.#sessions.expect(brokerId)
    }
  }

  /** What was decided. */
  get image(): MetadataImage {
    return (this.#runtime.machine(PARTITION) as MetadataMachine).image
  }

  /** The offset behind the last record that counts. */
  get metadataOffset(): number {
    return this.#offsetBefore + this.#committed
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
    const subscription = { tell, told: 0, heard: 0, retry: undefined }
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

  /** How many records of the history are on the disk; brokers are told no others. */
  get #committed(): number {
    const { nextOffset } = this.#runtime.machine(PARTITION) as MetadataMachine
    return this.#history.length - Math.max(0, nextOffset - this.#log.highWatermark)
  }

  #context({ image, nextOffset }: MetadataMachine, decision: Decision): DecisionContext {
    const config = this.#config
    return {
      image,
      env: this.#env,
      config,
      nextOffset,
      floor: this.#floor,
      sessions: this.#sessions,
      failedReplicas: this.#failedReplicas,
      get appended() {
        return decision.records.length
      },
      topicConfig: topic => new TopicConfig(image.configsOf(RESOURCE_TYPE.topic, topic), config),
      append: (...records) =>
        decision.append(...records.map(record => ({ key: NO_KEY, value: encodeMetadataRecord(record) }))),
    }
  }

  #publish(): void {
    for (const subscription of this.#subscriptions.values()) this.#tell(subscription)
  }

  /** Does not wait for what was told before: it arrives in order. What got lost is told again, from where it was heard last. */
  #tell(subscription: Subscription): void {
    const { told } = subscription
    const committed = this.#committed
    if (told >= committed) return
    subscription.told = committed
    const before = this.#offsetBefore
    // A snapshot stands for the beginning: whoever knows nothing yet gets it whole.
    const startOffset = told === 0 ? 0 : before + told
    const update = { startOffset, endOffset: before + committed, records: this.#history.slice(told, committed) }
    subscription.tell(update).whenSettled(heard => {
      subscription.heard = Math.max(subscription.heard, (heard ?? 0) - before)
      if (subscription.heard < committed) this.#tellAgain(subscription)
    })
  }

  /** How many records there were before those of the history: a snapshot took their place. */
  get #offsetBefore(): number {
    return (this.#runtime.machine(PARTITION) as MetadataMachine).nextOffset - this.#history.length
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
