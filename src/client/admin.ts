/**
 * Administration: thin functions over one API each. They say what the broker answers, item by item; they keep nothing and wait
 * for nothing to come true. Follows KafkaAdminClient.
 */

import { createTopics as createTopicsApi } from '../protocol/apis/create-topics.ts'
import { deleteTopics as deleteTopicsApi } from '../protocol/apis/delete-topics.ts'
import { describeCluster as describeClusterApi } from '../protocol/apis/describe-cluster.ts'
import { describeConfigs as describeConfigsApi } from '../protocol/apis/describe-configs.ts'
import { describeGroups as describeGroupsApi } from '../protocol/apis/describe-groups.ts'
import { listGroups as listGroupsApi } from '../protocol/apis/list-groups.ts'
import type { Api, Decoded, Fields, Struct } from '../protocol/dsl.ts'
import type { Later } from '../util/later.ts'
import type { KafkaClient } from './client.ts'
import type { Body } from './connection.ts'
import { DONE, type Failure, failureOf, ok, type Result } from './result.ts'
import { all, type Task, until } from './task.ts'

export interface NewTopic {
  readonly name: string
  /** The broker's default when left out, or as many as there are assignments. */
  readonly partitions?: number
  /** The broker's default when left out. */
  readonly replicationFactor?: number
  /** Broker ids per partition, instead of the two above. */
  readonly assignments?: readonly (readonly number[])[]
  readonly configs?: Readonly<Record<string, string>>
}

/** What became of a topic. */
export interface TopicResult {
  readonly topicId: string
  /** −1 when the broker is too old to tell. */
  readonly partitions: number
  readonly replicationFactor: number
}

export interface CreateTopicsOptions {
  readonly timeoutMs?: number
  /** Only says whether it would work. */
  readonly validateOnly?: boolean
}

/** Asks until the request gets through; `check` finds an error that is worth another try. */
function* ask<Q extends Fields, S extends Fields>(
  client: KafkaClient,
  api: Api<Q, S>,
  body: Body<Q>,
  check: (response: Decoded<Struct<S>>) => Failure | undefined = () => undefined,
  broker: number | 'any' | 'controller' = 'any',
): Task<Result<Decoded<Struct<S>>>> {
  const attempt = function* (): Task<Result<Decoded<Struct<S>>>> {
    const reply = yield* until(client.request(api, body, { broker }))
    return reply.ok ? (check(reply.value) ?? reply) : reply
  }
  return yield* client.retry(attempt)
}

/**
 * Creates topics. Each has its own result, by name.
 *
 * @example
 * createTopics(client, [{ name: 'orders', partitions: 12 }]).whenSettled(result => {
 *   if (result.ok) console.log(result.value.get('orders')?.ok)
 * })
 */
export function createTopics(
  client: KafkaClient,
  topics: readonly NewTopic[],
  { timeoutMs = client.options.requestTimeoutMs, validateOnly = false }: CreateTopicsOptions = {},
): Later<Result<Map<string, Result<TopicResult>>>> {
  const body = {
    timeoutMs,
    validateOnly,
    topics: topics.map(({ name, partitions = -1, replicationFactor = -1, assignments = [], configs = {} }) => ({
      name,
      numPartitions: partitions,
      replicationFactor,
      assignments: assignments.map((brokerIds, partitionIndex) => ({ partitionIndex, brokerIds })),
      configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
    })),
  }
  const task = function* (): Task<Result<Map<string, Result<TopicResult>>>> {
    const reply = yield* ask(client, createTopicsApi, body, undefined, 'controller')
    if (!reply.ok) return reply
    const results = reply.value.topics.map((each): [string, Result<TopicResult>] => {
      const { topicId, numPartitions: partitions, replicationFactor } = each
      const value = { topicId, partitions, replicationFactor }
      return [each.name, failureOf(each.errorCode, each.errorMessage) ?? ok(value)]
    })
    return ok(new Map(results))
  }
  return client.run(task())
}

/** Deletes topics by name. Each has its own result. */
export function deleteTopics(
  client: KafkaClient,
  names: readonly string[],
  timeoutMs = client.options.requestTimeoutMs,
): Later<Result<Map<string, Result<void>>>> {
  const body = (version: number) => ({
    timeoutMs,
    ...(version >= 6 ? { topics: names.map(name => ({ name })) } : { topicNames: names }),
  })
  const task = function* (): Task<Result<Map<string, Result<void>>>> {
    const reply = yield* ask(client, deleteTopicsApi, body, undefined, 'controller')
    if (!reply.ok) return reply
    const results = reply.value.responses.map((each): [string, Result<void>] => [
      each.name ?? each.topicId,
      failureOf(each.errorCode, each.errorMessage) ?? DONE,
    ])
    return ok(new Map(results))
  }
  return client.run(task())
}

/** The resource types of DescribeConfigs. */
export const RESOURCE_TYPES = { topic: 2, broker: 4, group: 32 } as const

export interface ConfigResource {
  readonly type: keyof typeof RESOURCE_TYPES
  readonly name: string
  /** All when left out. */
  readonly keys?: readonly string[]
}

export type ConfigEntry = Decoded<typeof describeConfigsApi.response>['results'][number]['configs'][number]

/** Configs by resource, keyed by `type:name`. A broker is asked itself, since it alone knows all its settings. */
export function describeConfigs(
  client: KafkaClient,
  resources: readonly ConfigResource[],
): Later<Result<Map<string, Result<ConfigEntry[]>>>> {
  const task = function* (): Task<Result<Map<string, Result<ConfigEntry[]>>>> {
    const results = new Map<string, Result<ConfigEntry[]>>()
    for (const [broker, mine] of byBroker(resources)) {
      const body = {
        includeSynonyms: true,
        resources: mine.map(({ type, name, keys = null }) => ({
          resourceType: RESOURCE_TYPES[type],
          resourceName: name,
          configurationKeys: keys,
        })),
      }
      if (typeof broker === 'number' && client.metadata.broker(broker) === undefined) yield* until(client.refresh())
      const reply = yield* ask(client, describeConfigsApi, body, undefined, broker)
      if (!reply.ok) return reply
      for (const [index, each] of reply.value.results.entries()) {
        const { type, name } = mine[index]
        results.set(`${type}:${name}`, failureOf(each.errorCode, each.errorMessage) ?? ok(each.configs))
      }
    }
    return ok(results)
  }
  return client.run(task())
}

function byBroker(resources: readonly ConfigResource[]): Map<number | 'any', ConfigResource[]> {
  const groups = new Map<number | 'any', ConfigResource[]>()
  for (const resource of resources) {
    const broker = resource.type === 'broker' && resource.name !== '' ? Number(resource.name) : 'any'
    groups.set(broker, [...(groups.get(broker) ?? []), resource])
  }
  return groups
}

/** Who the brokers are. */
export function describeCluster(client: KafkaClient): Later<Result<Decoded<typeof describeClusterApi.response>>> {
  const check = (response: Decoded<typeof describeClusterApi.response>) =>
    failureOf(response.errorCode, response.errorMessage)
  return client.run(ask(client, describeClusterApi, {}, check))
}

export type ListedGroup = Decoded<typeof listGroupsApi.response>['groups'][number]

/** All groups of the cluster: every broker lists those that it coordinates. */
export function listGroups(
  client: KafkaClient,
  filter: { states?: readonly string[]; types?: readonly string[] } = {},
): Later<Result<ListedGroup[]>> {
  const body = () => ({
    ...(filter.states === undefined ? {} : { statesFilter: filter.states }),
    ...(filter.types === undefined ? {} : { typesFilter: filter.types }),
  })
  const check = (response: Decoded<typeof listGroupsApi.response>) => failureOf(response.errorCode)
  const task = function* (): Task<Result<ListedGroup[]>> {
    const refreshed = yield* client.retry(() => until(client.refresh()))
    if (!refreshed.ok) return refreshed
    const laters = client.metadata.brokers.map(({ nodeId }) =>
      client.run(ask(client, listGroupsApi, body, check, nodeId)),
    )
    const groups = new Map<string, ListedGroup>()
    for (const reply of yield* until(all(client.env.turns, laters))) {
      if (!reply.ok) return reply
      for (const group of reply.value.groups) groups.set(group.groupId, group)
    }
    return ok([...groups.values()])
  }
  return client.run(task())
}

export type DescribedGroup = Decoded<typeof describeGroupsApi.response>['groups'][number]

/** Classic groups by id, each asked of its coordinator. One that does not exist is in state `Dead`. */
export function describeGroups(
  client: KafkaClient,
  groupIds: readonly string[],
): Later<Result<Map<string, Result<DescribedGroup>>>> {
  const one = function* (groupId: string): Task<Result<DescribedGroup>> {
    const check = ({ groups }: Decoded<typeof describeGroupsApi.response>) => {
      const failure = failureOf(groups[0].errorCode, groups[0].errorMessage)
      // Version 6 says by an error what the older ones say by the state alone.
      return failure?.error.code === 'GROUP_ID_NOT_FOUND' ? undefined : failure
    }
    const body = { groups: [groupId] }
    const reply = yield* client.retry(() => client.askCoordinator(groupId, describeGroupsApi, body, check))
    return reply.ok ? ok(reply.value.groups[0]) : reply
  }
  return all(
    client.env.turns,
    groupIds.map(groupId => client.run(one(groupId))),
  ).map(results => ok(new Map(results.map((result, index) => [groupIds[index], result]))))
}
