import { alterClientQuotas } from '../../../src/protocol/apis/alter-client-quotas.ts'
import { alterConfigs } from '../../../src/protocol/apis/alter-configs.ts'
import { describeClientQuotas } from '../../../src/protocol/apis/describe-client-quotas.ts'
import { describeConfigs } from '../../../src/protocol/apis/describe-configs.ts'
import { incrementalAlterConfigs } from '../../../src/protocol/apis/incremental-alter-configs.ts'
import { listConfigResources } from '../../../src/protocol/apis/list-config-resources.ts'
import type { Json, JsonObject } from '../../twin/json.ts'
import type { World } from '../world.ts'

/**
 * Steps about configs and quotas. Those of brokers are only described and validated, never set: all sequences share the
 * brokers.
 */

const TOPIC = 2
const BROKER = 4
const GROUP = 32

/** Names with values: good ones that show in later answers, and wrong ones. */
const VALUES: Record<string, readonly string[]> = {
  'max.message.bytes': ['200', '500', '0', '-1', 'x', '', '2147483648'],
  'message.timestamp.type': ['LogAppendTime', 'CreateTime', 'logappendtime'],
  'compression.type': ['gzip', 'zstd', 'uncompressed', 'producer', 'none', 'GZIP'],
  'compression.gzip.level': ['1', '9', '-1', '0', '10'],
  'cleanup.policy': [
    'delete',
    'compact',
    'compact,delete',
    'delete,compact',
    '',
    'x',
    'delete,delete',
    'compact, delete',
  ],
  'retention.ms': ['-1', '3600000', '-2', ' 5000000 ', '1.5', '9223372036854775807', '9223372036854775808'],
  'retention.bytes': ['-1', '100000', '-5'],
  'internal.segment.bytes': ['400', '1000', '0'],
  'segment.bytes': ['1048576', '1048575', '2147483647'],
  'min.insync.replicas': ['1', '2', '0'],
  'message.timestamp.after.max.ms': ['10000000', '-1'],
  'message.timestamp.before.max.ms': ['1000', '9223372036854775807'],
  'min.cleanable.dirty.ratio': ['0.1', '1.1', '1', '.5', 'NaN'],
  'unclean.leader.election.enable': ['true', 'false', 'TRUE', 'yes'],
  preallocate: ['false', 'true'],
  'leader.replication.throttled.replicas': ['*', '0:1,1:1', 'none', ''],
  'local.retention.ms': ['-2', '5'],
  'remote.storage.enable': ['false'],
  'flush.messages': ['1', '0'],
  'min.compaction.lag.ms': ['0', '5'],
  'max.compaction.lag.ms': ['0', '3', '9223372036854775807'],
  'no.such.config': ['1'],
}
const GROUP_VALUES: Record<string, readonly string[]> = {
  'consumer.session.timeout.ms': ['45000', '10', 'x', '60001', '1000'],
  'consumer.heartbeat.interval.ms': ['5000', '1', '100', '15001'],
  'share.auto.offset.reset': ['earliest', 'latest', 'by_duration:PT1H', 'never'],
  'share.isolation.level': ['read_committed', 'x'],
  'share.record.lock.duration.ms': ['15000', '10', '60001'],
  'share.session.timeout.ms': ['45000', '0'],
  'no.such.config': ['1'],
}
const BROKER_VALUES: Record<string, readonly string[]> = {
  'log.retention.ms': ['1000', 'x'],
  'message.max.bytes': ['1000', '-1'],
  'num.partitions': ['3'],
  'log.cleaner.threads': ['2', '0', '100'],
  'no.such.config': ['1'],
  'min.insync.replicas': ['1', '0'],
  'background.threads': ['12', '0', '1000'],
}

function valuesOf(type: number): Record<string, readonly string[]> {
  return type === TOPIC ? VALUES : type === GROUP ? GROUP_VALUES : BROKER_VALUES
}

/** Configs for CreateTopics: mostly good ones. */
export function topicConfigs(world: World): Json {
  const names = world.shuffled(Object.keys(VALUES)).slice(0, 1 + world.int(2))
  // Segments that are small enough to have several.
  if (world.chance(0.3) && !names.includes('internal.segment.bytes')) names.push('internal.segment.bytes')
  return names.map(name => {
    const values = VALUES[name]
    return { name, value: world.chance(0.7) ? values[0] : world.pick<string | null>(...values, null) }
  })
}

function resource(world: World): { resourceType: number; resourceName: string } {
  const dice = world.random.next()
  if (dice < 0.65) return { resourceType: TOPIC, resourceName: world.topic().name }
  if (dice < 0.82) return { resourceType: GROUP, resourceName: world.group().name }
  if (dice < 0.95) return { resourceType: BROKER, resourceName: world.pick('1', '', '5', 'x') }
  return world.pick(
    { resourceType: TOPIC, resourceName: 'a b' },
    { resourceType: TOPIC, resourceName: '' },
    { resourceType: GROUP, resourceName: '' },
    { resourceType: 7, resourceName: 'x' },
    { resourceType: 0, resourceName: 'x' },
  )
}

export function describeSomeConfigs(world: World): void {
  const resources = [resource(world), ...(world.chance(0.2) ? [resource(world)] : [])].map(each => {
    const names = world.shuffled(Object.keys(valuesOf(each.resourceType)))
    const all = each.resourceType !== BROKER && world.chance(0.25)
    return { ...each, configurationKeys: all ? null : names.slice(0, 1 + world.int(5)) }
  })
  world.send(describeConfigs, world.version(describeConfigs), {
    resources: resources as Json,
    includeSynonyms: world.chance(0.5),
    includeDocumentation: false,
  })
}

export function alterSomeConfigs(world: World): void {
  const target = resource(world)
  const values = valuesOf(target.resourceType)
  const names = world.shuffled(Object.keys(values)).slice(0, world.int(4))
  const configs: JsonObject[] = names.map(name => ({
    name,
    value: world.mostly<string | null>(world.pick(...values[name]), null),
  }))
  if (world.chance(0.05) && configs.length > 0) configs.push({ ...configs[0] })
  const resources = [{ ...target, configs }, ...(world.chance(0.005) ? [{ ...target, configs }] : [])]
  const validateOnly = target.resourceType === BROKER || world.chance(0.2)
  world.send(alterConfigs, world.version(alterConfigs), { resources: resources as Json, validateOnly })
}

export function alterIncrementally(world: World): void {
  const target = resource(world)
  const values = valuesOf(target.resourceType)
  const names = world.shuffled(Object.keys(values)).slice(0, 1 + world.int(2))
  if (target.resourceType === TOPIC && world.chance(0.25))
    names[0] = world.pick('cleanup.policy', 'leader.replication.throttled.replicas')
  const configs: JsonObject[] = names.map(name => ({
    name,
    configOperation: world.pick(0, 0, 0, 1, 2, 3, world.mostly(0, 4, -1)),
    value: world.mostly<string | null>(world.pick(...values[name]), null),
  }))
  if (world.chance(0.05)) configs.push({ ...configs[0], configOperation: world.pick(0, 1) })
  const resources = [{ ...target, configs }, ...(world.chance(0.05) ? [{ ...target, configs }] : [])]
  const validateOnly = target.resourceType === BROKER || world.chance(0.2)
  world.send(incrementalAlterConfigs, world.version(incrementalAlterConfigs), {
    resources: resources as Json,
    validateOnly,
  })
}

export function listResources(world: World): void {
  const version = world.version(listConfigResources)
  const resourceTypes = world.pick<number[]>([], [TOPIC], [GROUP], [TOPIC, GROUP], [BROKER], [7])
  world.send(listConfigResources, version, { resourceTypes: version === 0 ? [] : resourceTypes }, { all: true })
}

const QUOTAS = [
  'producer_byte_rate',
  'consumer_byte_rate',
  'request_percentage',
  'controller_mutation_rate',
  'no_such_quota',
]

export function alterQuotas(world: World): void {
  const user = { entityType: 'user', entityName: world.pick('@u', '@v') }
  const client = { entityType: 'client-id', entityName: world.mostly('@c', '@d') }
  const entity = world.pick<JsonObject[]>([user], [client], [user, client])
  if (world.chance(0.04))
    entity.push(world.pick({ entityType: 'ip', entityName: '127.0.0.9' }, { entityType: 'x', entityName: 'y' }))
  if (world.chance(0.02)) entity.length = 0
  const ops = Array.from({ length: world.mostly(1, 2, 0) }, () => ({
    key: world.pick(...QUOTAS.slice(0, world.mostly(4, 5))),
    value: world.mostly(1_000_000 + world.int(5), -1, 0, 0.5),
    remove: world.chance(0.3),
  }))
  world.send(alterClientQuotas, world.version(alterClientQuotas), {
    entries: [{ entity, ops }] as Json,
    validateOnly: world.chance(0.1),
  })
}

export function describeQuotas(world: World): void {
  const user = { entityType: 'user', matchType: 0, match: world.pick('@u', '@v') }
  const client = { entityType: 'client-id', matchType: 0, match: world.pick('@c', '@d') }
  const components = world.pick<JsonObject[]>(
    [user],
    [client],
    [user, client],
    [user, { ...client, matchType: 2, match: null }],
  )
  if (world.chance(0.05)) components.push({ ...components[0] })
  if (world.chance(0.05))
    components[0] = { ...components[0], matchType: world.pick(1, 3), match: world.pick<Json>(null, 'x') }
  world.send(describeClientQuotas, world.version(describeClientQuotas), { components, strict: world.chance(0.3) })
}
