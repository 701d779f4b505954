import { BROKER_DEFINITIONS, type BrokerConfig } from '../../broker/configs/broker-config.ts'
import type { ConfigDefinition } from '../../broker/configs/config-definition.ts'
import { GROUP_DEFINITIONS } from '../../broker/configs/describe.ts'
import { outOfGroupBounds, shortGroupSession } from '../../broker/configs/group-config.ts'
import {
  checkTopicConfigs,
  TOPIC_DEFINITIONS,
  TopicConfig,
  type TopicOverrides,
} from '../../broker/configs/topic-config.ts'
import { unlistedBrokerConfig } from '../../broker/configs/unlisted-config.ts'
import type { ControllerMessages } from '../../broker/link.ts'
import { RESOURCE_TYPE } from '../../broker/metadata/image.ts'
import type { MetadataRecord } from '../../broker/metadata/records.ts'
import { checkTopicName } from '../../broker/topic-names.ts'
import { KafkaError } from '../../protocol/errors.ts'
import { repeated } from '../../util/repeated.ts'
import type { DecisionContext } from '../decision-context.ts'
import { forgetEligible } from './broker-changes.ts'

/**
 * Changes configs of topics, brokers and groups (`ConfigAdminManager`, `ConfigurationControlManager`): single ones, or all of a
 * resource at once as the older API does. Each resource succeeds or fails for itself.
 */

const SET = 0
const DELETE = 1
const APPEND = 2
const THREAD_POOLS = new Set([
  'background.threads',
  'log.cleaner.threads',
  'num.io.threads',
  'num.recovery.threads.per.data.dir',
  'num.replica.fetchers',
])
const MIN_ISR = 'min.insync.replicas'
const OPERATIONS: readonly string[] = ['SET', 'DELETE', 'APPEND', 'SUBTRACT']

const DEFINITIONS: Record<Kind, ReadonlyMap<string, ConfigDefinition>> = {
  topic: TOPIC_DEFINITIONS,
  broker: BROKER_DEFINITIONS,
  group: GROUP_DEFINITIONS,
}

interface Resource {
  resourceType: number
  resourceName: string
  configs: Change[]
}

interface Change {
  name: string
  value: string | null
  configOperation?: number
}

type Kind = 'topic' | 'broker' | 'group'
type ConfigRecord = Extract<MetadataRecord, { type: 'config' }>
type Incremental = ControllerMessages['incrementalAlterConfigs']
type Legacy = ControllerMessages['alterConfigs']

export function incrementalAlterConfigsDecision(
  { request, brokerId }: Incremental['request'],
  context: DecisionContext,
): Incremental['reply'] {
  return alterAll(request, context, resource => new Alteration(resource, brokerId, context).incremental())
}

export function alterConfigsDecision(
  { request, brokerId }: Legacy['request'],
  context: DecisionContext,
): Legacy['reply'] {
  return alterAll(request, context, resource => new Alteration(resource, brokerId, context).replaceAll())
}

function alterAll(
  request: { resources: Resource[]; validateOnly: boolean },
  context: DecisionContext,
  alter: (resource: Resource) => MetadataRecord[],
): Incremental['reply'] {
  const keyOf = ({ resourceType, resourceName }: Resource) => `${resourceType}/${resourceName}`
  const twice = repeated(request.resources.map(keyOf))
  const responses = request.resources.map(resource => {
    const { resourceType, resourceName } = resource
    try {
      if (twice.has(keyOf(resource))) {
        throw new KafkaError('INVALID_REQUEST', 'Each resource must appear at most once.')
      }
      const records = alter(resource)
      // One by one: a call takes only so many arguments.
      if (!request.validateOnly) {
        for (const record of records) context.append(record)
        if (records.some(record => record.type === 'config' && record.name === MIN_ISR)) {
          forgetEligible(resourceType === RESOURCE_TYPE.topic ? resourceName : undefined, context)
        }
      }
      return { errorCode: 0, errorMessage: null, resourceType, resourceName }
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      return { errorCode: error.code, errorMessage: error.message, resourceType, resourceName }
    }
  })
  return { responses }
}

/** What one resource's changes come to. The order of the checks is Kafka's: how it is asked, what is asked, whether it exists. */
class Alteration {
  readonly #resource: Resource
  readonly #context: DecisionContext
  readonly #kind: Kind

  constructor(resource: Resource, brokerId: number, context: DecisionContext) {
    this.#resource = resource
    this.#context = context
    const names = resource.configs.map(({ name }) => name)
    if (new Set(names).size < names.length) {
      throw new KafkaError('INVALID_REQUEST', 'Error due to duplicate config keys')
    }
    const nulls = resource.configs.filter(({ value, configOperation }) => value === null && configOperation !== DELETE)
    if (nulls.length > 0) {
      const which = nulls.map(({ name }) => name).join(',')
      throw new KafkaError('INVALID_REQUEST', `Null value not supported for : ${which}`)
    }
    this.#kind = kindOf(resource.resourceType)
    if (this.#kind === 'broker') checkBrokerName(resource.resourceName, brokerId)
  }

  incremental(): MetadataRecord[] {
    const { configs } = this.#resource
    const changes = configs.map(change => [change.name, this.#valueOf(change)] as const)
    // Kafka's broker looks at lists first, its controller at the operations afterwards.
    const unknown = configs.find(({ configOperation = SET }) => OPERATIONS[configOperation] === undefined)
    if (unknown !== undefined) {
      throw new KafkaError('INVALID_REQUEST', `Unknown operation ${unknown.configOperation}`)
    }
    return this.#change(changes)
  }

  /** What is not named goes back to its default. */
  replaceAll(): MetadataRecord[] {
    const { configs } = this.#resource
    const given = new Set(configs.map(({ name }) => name))
    const dropped = [...this.#present().keys()].filter(name => !given.has(name))
    return this.#change([
      ...configs.map(({ name, value }) => [name, value] as const),
      ...dropped.map(name => [name, null] as const),
    ])
  }

  /** Checks everything that the resource is going to have, what it has already included. */
  #change(changes: readonly (readonly [name: string, value: string | null])[]): MetadataRecord[] {
    const { resourceType, resourceName } = this.#resource
    const values = new Map(this.#present())
    const records: ConfigRecord[] = []
    for (const [name, value] of changes) {
      // What is so already is not written again, and need not even be known.
      if (this.#kind !== 'broker' && (values.get(name) ?? null) === value) continue
      records.push({ type: 'config', resourceType, resourceName, name, value })
      if (value === null) values.delete(name)
      else values.set(name, value)
    }
    if (this.#kind === 'broker') checkBroker(values, this.#context.config)
    if (this.#kind === 'broker') checkMinIsr(resourceName, records)
    if (this.#kind === 'topic') checkTopicChange(resourceName, values, this.#context)
    if (this.#kind === 'group') checkGroup(resourceName, values, this.#context)
    return records
  }

  #present(): ReadonlyMap<string, string> {
    return this.#context.image.configsOf(this.#resource.resourceType, this.#resource.resourceName)
  }

  #valueOf({ name, value, configOperation = SET }: Change): string | null {
    const operation = OPERATIONS[configOperation]
    if (configOperation === DELETE) return null
    if (configOperation === SET || operation === undefined) return value
    if (DEFINITIONS[this.#kind].get(name)?.type !== 'list') {
      throw new KafkaError('INVALID_CONFIG', `Can't ${operation} to key ${name} because its type is not LIST.`)
    }
    const before = partsOf(this.#inForce(name)).filter(item => item !== '')
    const changed = partsOf(value ?? '')
    const after =
      configOperation === APPEND
        ? [...before, ...changed.filter(item => !before.includes(item))]
        : before.filter(item => !changed.includes(item))
    return after.join(',')
  }

  /** What lists are appended to: what was set, else what holds by default. */
  #inForce(name: string): string {
    const own = this.#present().get(name)
    if (own !== undefined) return own
    const { config } = this.#context
    if (this.#kind === 'topic') return new TopicConfig(new Map(), config).text(name) ?? ''
    if (this.#kind === 'broker') return config.text(name) ?? ''
    return GROUP_DEFINITIONS.get(name)?.defaultValue ?? ''
  }
}

/** As Java splits: blanks stay, and of what is empty only the trailing parts go, but not the first. */
function partsOf(value: string): string[] {
  const parts = value.split(',')
  while (parts.length > 1 && parts.at(-1) === '') parts.pop()
  return parts
}

function kindOf(resourceType: number): Kind {
  switch (resourceType) {
    case RESOURCE_TYPE.topic:
      return 'topic'
    case RESOURCE_TYPE.broker:
      return 'broker'
    case RESOURCE_TYPE.group:
      return 'group'
    default:
      throw new KafkaError('INVALID_REQUEST', `Configs of resource type ${resourceType} cannot be altered`)
  }
}

function checkTopicChange(name: string, values: TopicOverrides, { image }: DecisionContext): void {
  if (name === '') throw new KafkaError('INVALID_REQUEST', 'Default topic resources are not allowed.')
  const badName = checkTopicName(name)
  if (badName !== undefined) throw new KafkaError('INVALID_TOPIC_EXCEPTION', badName)
  const problem = checkTopicConfigs(values)
  if (problem !== undefined) throw new KafkaError('INVALID_CONFIG', problem)
  if (!image.topicsByName.has(name)) {
    throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', `The topic '${name}' does not exist.`)
  }
}

/** A group's configs must lie within the broker's bounds and fit each other. */
function checkGroup(name: string, values: ReadonlyMap<string, string>, { config }: DecisionContext): void {
  if (name === '') throw new KafkaError('INVALID_REQUEST', 'Default group resources are not allowed.')
  for (const [key, value] of values) {
    const definition = GROUP_DEFINITIONS.get(key)
    const unknown = definition === undefined ? `Unknown group config name: ${key}` : undefined
    const problem = unknown ?? definition?.check(value) ?? outOfGroupBounds(key, value, config)
    if (problem !== undefined) throw new KafkaError('INVALID_CONFIG', problem)
  }
  const problem = shortGroupSession(values, config)
  if (problem !== undefined) throw new KafkaError('INVALID_CONFIG', problem)
}

/** Only the broker that is asked, or all of them. */
function checkBrokerName(name: string, brokerId: number): void {
  if (name !== '' && name !== String(brokerId)) {
    throw new KafkaError('INVALID_REQUEST', `Unexpected broker id, expected ${brokerId}, but received ${name}`)
  }
}

/** Only what may change while brokers run, and pools of threads not by more than a factor of two. */
function checkBroker(values: ReadonlyMap<string, string>, config: BrokerConfig): void {
  const fixed = [...values.keys()].filter(key => BROKER_DEFINITIONS.get(key)?.dynamic === false)
  if (fixed.length > 0) {
    throw new KafkaError('INVALID_REQUEST', `Cannot update these configs dynamically: [${fixed.join(', ')}]`)
  }
  for (const [key, value] of values) {
    const problem = (BROKER_DEFINITIONS.get(key) ?? unlistedBrokerConfig(key))?.check(value)
    if (problem !== undefined) throw new KafkaError('INVALID_REQUEST', problem)
    if (!THREAD_POOLS.has(key)) continue
    const current = config.number(key)
    if (Number(value) > current * 2 || Number(value) < Math.max(1, Math.floor(current / 2))) {
      throw new KafkaError('INVALID_REQUEST', `${key}=${value} is more than double or less than half of ${current}`)
    }
  }
}

/** With eligible leader replicas (KIP-966) all brokers have the same minimum, and one there must be. */
function checkMinIsr(brokerName: string, records: readonly ConfigRecord[]): void {
  const change = records.find(({ name }) => name === MIN_ISR)
  if (change === undefined) return
  if (brokerName !== '') {
    throw new KafkaError('INVALID_CONFIG', `Broker-level ${MIN_ISR} cannot be altered while ELR is enabled.`)
  }
  if (change.value === null) {
    throw new KafkaError('INVALID_CONFIG', `Cluster-level ${MIN_ISR} cannot be removed while ELR is enabled.`)
  }
}
