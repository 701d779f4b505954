import type { ControllerMessages } from '../../broker/link.ts'
import type { TopicImage } from '../../broker/metadata/image.ts'
import { KafkaError } from '../../protocol/errors.ts'
import { ZERO_UUID } from '../../util/uuid.ts'
import type { DecisionContext } from '../decision-context.ts'

/** Deletes topics by name or id, each for itself (`ControllerApis.deleteTopics`). */

type Message = ControllerMessages['deleteTopics']['request']
type Reply = ControllerMessages['deleteTopics']['reply']
interface Target {
  name: string | null
  topicId: string
}

export function deleteTopicsDecision({ request, apiVersion }: Message, context: DecisionContext): Reply {
  const targets: Target[] =
    apiVersion >= 6 ? request.topics : request.topicNames.map(name => ({ name, topicId: ZERO_UUID }))
  const times = { byName: count(targets.map(({ name }) => name)), byId: count(targets.map(({ topicId }) => topicId)) }
  return { responses: uniqueTargets(targets).map(target => deleteTopic(target, times, context)) }
}

/** How often each name and each id stands in the request. */
interface Times {
  readonly byName: ReadonlyMap<string | null, number>
  readonly byId: ReadonlyMap<string, number>
}

function count<T>(values: readonly T[]): Map<T, number> {
  const times = new Map<T, number>()
  for (const value of values) times.set(value, (times.get(value) ?? 0) + 1)
  return times
}

/** What is named twice is answered once, in the first place. */
function uniqueTargets(targets: readonly Target[]): Target[] {
  const unique = new Map<string, Target>()
  for (const target of targets) {
    const key = target.name === null ? `id ${target.topicId}` : `name ${target.name}`
    if (!unique.has(key)) unique.set(key, target)
  }
  return [...unique.values()]
}

function deleteTopic(target: Target, times: Times, context: DecisionContext) {
  try {
    const topic = find(target, times, context)
    context.append({ type: 'removeTopic', topicId: topic.topicId })
    return { name: topic.name, topicId: topic.topicId, errorCode: 0, errorMessage: null }
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    return { ...target, errorCode: error.code, errorMessage: error.message }
  }
}

function find(target: Target, times: Times, { image }: DecisionContext): TopicImage {
  const { name, topicId } = target
  if (name !== null && topicId !== ZERO_UUID) {
    throw new KafkaError('INVALID_REQUEST', 'You may not specify both topic name and topic id.')
  }
  if (name === null && topicId === ZERO_UUID) {
    throw new KafkaError('INVALID_REQUEST', 'Neither topic name nor id were specified.')
  }
  const byName = name === null ? undefined : image.topicsByName.get(name)
  const topic = name === null ? image.topicsById.get(topicId) : byName
  if (timesOf(topic ?? target, times) > 1) {
    const what = name === null ? 'id' : 'name'
    throw new KafkaError('INVALID_REQUEST', `Duplicate topic ${what}.`)
  }
  if (topic !== undefined) return topic
  if (name === null) throw new KafkaError('UNKNOWN_TOPIC_ID', 'This server does not host this topic ID.')
  throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', 'This server does not host this topic-partition.')
}

/** How often a topic is asked for, by its name or its id; one that is not known only by what it is called. */
function timesOf({ name, topicId }: Target | TopicImage, { byName, byId }: Times): number {
  return (name === null ? 0 : (byName.get(name) ?? 0)) + (topicId === ZERO_UUID ? 0 : (byId.get(topicId) ?? 0))
}
