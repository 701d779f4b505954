import { BROKER_DEFINITIONS } from '../../broker/configs/broker-config.ts'
import { type ConfigDefinition, splitList } from '../../broker/configs/config-definition.ts'
import { GROUP_DEFINITIONS } from '../../broker/configs/describe.ts'
import { outOfGroupBounds, shortGroupSession } from '../../broker/configs/group-config.ts'
import { TOPIC_DEFINITIONS, TopicConfig } from '../../broker/configs/topic-config.ts'
import { unlistedBrokerConfig } from '../../broker/configs/unlisted-config.ts'
import type { ControllerMessages } from '../../broker/link.ts'
import { RESOURCE_TYPE } from '../../broker/metadata/image.ts'
import type { MetadataRecord } from '../../broker/metadata/records.ts'
import { checkTopicName } from '../../broker/topic-names.ts'
import { KafkaError } from '../../protocol/errors.ts'
import type { DecisionContext } from '../decision-context.ts'

/**
 * Changes configs of topics, brokers and groups (`ConfigAdminManager`, `ConfigurationControlManager`): single ones, or all of a
 * resource at once as the older API does. Each resource succeeds or fails for itself.
 */

const SET = 0
const DELETE = 1
const APPEND = 2
const MIN_ISR = 'min.insync.replicas'
const OPERATIONS: readonly string[] = ['SET', 'DELETE', 'APPEND', 'SUBTRACT']

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
  const keys = request.resources.map(({ resourceType, resourceName }) => `${resourceType}/${resourceName}`)
  const responses = request.resources.map((resource, at) => {
    const { resourceType, resourceName } = resource
    try {
      if (keys.indexOf(keys[at]) !== keys.lastIndexOf(keys[at])) {
        throw new KafkaError('INVALID_REQUEST', 'Each resource must appear at most once.')
      }
      const records = alter(resource)
      if (!request.validateOnly) context.append(...records)
      return { errorCode: 0, errorMessage: null, resourceType, resourceName }
    } catch (error) {
      if (!(error instanceof KafkaError)) throw error
      return { errorCode: error.code, errorMessage: error.message, resourceType, resourceName }
    }
  })
  return { responses }
}

/** What one resource's changes come to. */
class Alteration {
  readonly #resource: Resource
  readonly #context: DecisionContext
  readonly #definitions: ReadonlyMap<string, ConfigDefinition> | undefined
  readonly #kind: string

  constructor(resource: Resource, brokerId: number, context: DecisionContext) {
    this.#resource = resource
    this.#context = context
    const names = resource.configs.map(({ name }) => name)
    if (new Set(names).size < names.length) {
      throw new KafkaError('INVALID_REQUEST', 'Error due to duplicate config keys')
    }
    switch (resource.resourceType) {
      case RESOURCE_TYPE.topic:
        this.#kind = 'topic'
        this.#definitions = TOPIC_DEFINITIONS
        checkTopic(resource.resourceName, context)
        break
      case RESOURCE_TYPE.broker:
        this.#kind = 'broker'
        this.#definitions = BROKER_DEFINITIONS
        checkBroker(resource, brokerId)
        break
      case RESOURCE_TYPE.group:
        this.#kind = 'group'
        this.#definitions = GROUP_DEFINITIONS
        if (resource.resourceName === '')
          throw new KafkaError('INVALID_REQUEST', 'Default group resources are not allowed.')
        break
      default:
        throw new KafkaError('INVALID_REQUEST', `Configs of resource type ${resource.resourceType} cannot be altered`)
    }
  }

  incremental(): MetadataRecord[] {
    const records = this.#resource.configs.map(change => this.#record(change.name, this.#valueOf(change)))
    this.#checkGroup(records)
    return records
  }

  /** What is not named goes back to its default. */
  replaceAll(): MetadataRecord[] {
    const { configs } = this.#resource
    const given = new Set(configs.map(({ name }) => name))
    const dropped = [...this.#present().keys()].filter(name => !given.has(name))
    const records = [
      ...configs.map(({ name, value }) => this.#record(name, this.#checked(name, value))),
      ...dropped.map(name => this.#record(name, null)),
    ]
    this.#checkGroup(records)
    return records
  }

  /** A group's configs must fit each other, those it had and those it gets. */
  #checkGroup(records: readonly ConfigRecord[]): void {
    if (this.#kind !== 'group') return
    const values = new Map(this.#present())
    for (const { name = '', value = null } of records) {
      if (value === null) values.delete(name)
      else values.set(name, value)
    }
    const problem = shortGroupSession(values, this.#context.config)
    if (problem !== undefined) throw new KafkaError('INVALID_CONFIG', problem)
  }

  #record(name: string, value: string | null): ConfigRecord {
    const { resourceType, resourceName } = this.#resource
    if (resourceType === RESOURCE_TYPE.broker && name === MIN_ISR) checkMinIsr(resourceName, value)
    return { type: 'config', resourceType, resourceName, name, value }
  }

  #present(): ReadonlyMap<string, string> {
    return this.#context.image.configsOf(this.#resource.resourceType, this.#resource.resourceName)
  }

  #valueOf({ name, value, configOperation = SET }: Change): string | null {
    const operation = OPERATIONS[configOperation]
    if (operation === undefined) throw new KafkaError('INVALID_REQUEST', `Unknown operation ${configOperation}`)
    const definition = this.#definition(name)
    if (configOperation === DELETE) return null
    if (value === null) throw new KafkaError('INVALID_REQUEST', `Null value not supported for: ${name}`)
    if (configOperation === SET) return this.#checked(name, value)
    if (definition.type !== 'list') {
      throw new KafkaError('INVALID_CONFIG', `Can't ${operation} to key ${name} because its type is not LIST.`)
    }
    const before = splitList(this.#inForce(name))
    const changed = splitList(value)
    const after =
      configOperation === APPEND
        ? [...before, ...changed.filter(item => !before.includes(item))]
        : before.filter(item => !changed.includes(item))
    return this.#checked(name, after.join(','))
  }

  /** What lists are appended to: what was set, else what holds by default. */
  #inForce(name: string): string {
    const own = this.#present().get(name)
    if (own !== undefined) return own
    const { config } = this.#context
    if (this.#resource.resourceType === RESOURCE_TYPE.topic) return new TopicConfig(new Map(), config).text(name) ?? ''
    if (this.#resource.resourceType === RESOURCE_TYPE.broker) return config.text(name) ?? ''
    return this.#definition(name).defaultValue ?? ''
  }

  #definition(name: string): ConfigDefinition {
    const listed = this.#definitions?.get(name)
    const definition = listed ?? (this.#kind === 'broker' ? unlistedBrokerConfig(name) : undefined)
    if (definition === undefined) throw new KafkaError('INVALID_CONFIG', `Unknown ${this.#kind} config name: ${name}`)
    return definition
  }

  #checked(name: string, value: string | null): string {
    const definition = this.#definition(name)
    if (value === null)
      throw new KafkaError('INVALID_CONFIG', `Null value not supported for ${this.#kind} configs: ${name}`)
    const inForce = this.#context.config
    const problem =
      definition.check(value) ?? (this.#kind === 'group' ? outOfGroupBounds(name, value, inForce) : undefined)
    if (problem !== undefined)
      throw new KafkaError(this.#kind === 'broker' ? 'INVALID_REQUEST' : 'INVALID_CONFIG', problem)
    return value
  }
}

/** With eligible leader replicas (KIP-966) all brokers have the same value, and one there must be. */
function checkMinIsr(brokerName: string, value: string | null): void {
  if (brokerName !== '') {
    throw new KafkaError('INVALID_CONFIG', `Broker-level ${MIN_ISR} cannot be altered while ELR is enabled.`)
  }
  if (value === null) {
    throw new KafkaError('INVALID_CONFIG', `Cluster-level ${MIN_ISR} cannot be removed while ELR is enabled.`)
  }
}

function checkTopic(name: string, { image }: DecisionContext): void {
  if (name === '') throw new KafkaError('INVALID_REQUEST', 'Default topic resources are not allowed.')
  const problem = checkTopicName(name)
  if (problem !== undefined) throw new KafkaError('INVALID_TOPIC_EXCEPTION', problem)
  if (!image.topicsByName.has(name)) {
    throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', `The topic '${name}' does not exist.`)
  }
}

/** Only the broker that is asked, or all of them; and only what may change while it runs. */
function checkBroker({ resourceName, configs }: Resource, brokerId: number): void {
  if (resourceName !== '' && resourceName !== String(brokerId)) {
    const message = `Unexpected broker id, expected ${brokerId}, but received ${resourceName}`
    throw new KafkaError('INVALID_REQUEST', message)
  }
  const fixed = configs.map(({ name }) => name).filter(name => BROKER_DEFINITIONS.get(name)?.dynamic === false)
  if (fixed.length > 0) {
    throw new KafkaError('INVALID_REQUEST', `Cannot update these configs dynamically: [${fixed.join(', ')}]`)
  }
}
