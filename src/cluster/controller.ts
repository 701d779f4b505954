import type { BrokerConfig } from '../broker/configs/broker-config.ts'
import type { ControllerMessageKind, ControllerMessages, MetadataListener } from '../broker/link.ts'
import { MetadataImage, RESOURCE_TYPE } from '../broker/metadata/image.ts'
import { type AppliedRecord, decodeMetadataRecord, encodeMetadataRecord } from '../broker/metadata/records.ts'
import type { Decision } from '../coordinator/decision.ts'
import type { CoordinatorLog, CoordinatorRecord } from '../coordinator/ports.ts'
import { CoordinatorRuntime, type Machine } from '../coordinator/runtime.ts'
import type { Env } from '../util/env.ts'
import type { Later } from '../util/later.ts'
import type { ClusterFloor, DecisionContext } from './decision-context.ts'
import { alterClientQuotasDecision } from './decisions/alter-client-quotas.ts'
import { alterConfigsDecision, incrementalAlterConfigsDecision } from './decisions/alter-configs.ts'
import { alterUserScramCredentialsDecision } from './decisions/alter-scram-credentials.ts'
import { createPartitionsDecision } from './decisions/create-partitions.ts'
import { createTopicsDecision } from './decisions/create-topics.ts'
import { deleteTopicsDecision } from './decisions/delete-topics.ts'
import { electLeadersDecision } from './decisions/elect-leaders.ts'
import { raiseLeaderEpochs } from './decisions/raise-leader-epochs.ts'
import { alterPartitionReassignmentsDecision } from './decisions/reassign-partitions.ts'
import { allocateProducerIds, registerBroker } from './decisions/registration.ts'
import { updateFeaturesDecision } from './decisions/update-features.ts'

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
  createTopics: createTopicsDecision,
  deleteTopics: deleteTopicsDecision,
  createPartitions: createPartitionsDecision,
  alterConfigs: alterConfigsDecision,
  incrementalAlterConfigs: incrementalAlterConfigsDecision,
  alterClientQuotas: alterClientQuotasDecision,
  alterUserScramCredentials: alterUserScramCredentialsDecision,
  alterPartitionReassignments: alterPartitionReassignmentsDecision,
  electLeaders: electLeadersDecision,
  updateFeatures: updateFeaturesDecision,
  allocateProducerIds,
  raiseLeaderEpochs,
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

export class Controller {
  readonly #env: Env
  readonly #config: BrokerConfig
  readonly #runtime: CoordinatorRuntime<MetadataMachine>
  readonly #floor: ClusterFloor
  readonly #history: AppliedRecord[] = []
  readonly #listeners = new Set<{ listener: MetadataListener; told: number }>()

  constructor(options: { env: Env; config: BrokerConfig; log: CoordinatorLog; floor?: ClusterFloor }) {
    this.#env = options.env
    this.#config = options.config
    this.#floor = options.floor ?? { leaderEpoch: 0, producerId: 0 }
    this.#runtime = new CoordinatorRuntime({
      env: options.env,
      create: () => new MetadataMachine((record, image) => this.#applied(record, image)),
      commitTimeoutMs: () => Number.MAX_SAFE_INTEGER,
    })
    this.#runtime.becomeLeader(PARTITION, options.log)
  }

  /** What was set for all brokers at run time counts for the defaults of topics. */
  #applied(record: AppliedRecord, image: MetadataImage): void {
    this.#history.push(record)
    if (record.type === 'config' && record.resourceType === RESOURCE_TYPE.broker) {
      this.#config.setDynamic(new Map(), image.configsOf(RESOURCE_TYPE.broker, ''))
    }
  }

  /** Tells `listener` everything from the beginning, and from now on each thing that is committed. */
  subscribe(listener: MetadataListener): void {
    const subscription = { listener, told: 0 }
    this.#listeners.add(subscription)
    this.#tell(subscription)
  }

  /** Decides on a message. The brokers are told what follows from it before the reply arrives. */
  handle<Kind extends ControllerMessageKind>(
    kind: Kind,
    request: ControllerMessages[Kind]['request'],
  ): Later<ControllerMessages[Kind]['reply']> {
    return this.#runtime.execute(
      PARTITION,
      (machine, decision) => {
        const reply = DECISIONS[kind](request, this.#context(machine, decision))
        decision.whenCommitted(() => this.#publish())
        return reply
      },
      error => {
        throw new Error(`the controller cannot decide: ${error}`)
      },
    )
  }

  #context(machine: MetadataMachine, decision: Decision): DecisionContext {
    return {
      image: machine.image,
      env: this.#env,
      config: this.#config,
      nextOffset: machine.nextOffset,
      floor: this.#floor,
      append: (...records) =>
        decision.append(...records.map(record => ({ key: NO_KEY, value: encodeMetadataRecord(record) }))),
    }
  }

  #publish(): void {
    for (const subscription of this.#listeners) this.#tell(subscription)
  }

  #tell(subscription: { listener: MetadataListener; told: number }): void {
    const records = this.#history.slice(subscription.told)
    subscription.told = this.#history.length
    if (records.length > 0) subscription.listener.metadata({ endOffset: subscription.told, records })
  }
}
