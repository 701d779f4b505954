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
  return { responses: uniqueTargets(targets).map(target => deleteTopic(target, targets, context)) }
}

/** What is named twice is answered once. */
function uniqueTargets(targets: readonly Target[]): Target[] {
  return targets.filter((target, at) => targets.findIndex(other => same(target, other)) === at)
}

function same(a: Target, b: Target): boolean {
  return a.name !== null || b.name !== null ? a.name === b.name : a.topicId === b.topicId
}

function deleteTopic(target: Target, all: readonly Target[], context: DecisionContext) {
  try {
    const topic = find(target, all, context)
    context.append({ type: 'removeTopic', topicId: topic.topicId })
    return { name: topic.name, topicId: topic.topicId, errorCode: 0, errorMessage: null }
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    return { ...target, errorCode: error.code, errorMessage: error.message }
  }
}

function find(target: Target, all: readonly Target[], { image }: DecisionContext): TopicImage {
  const { name, topicId } = target
  if (name !== null && topicId !== ZERO_UUID) {
    throw new KafkaError('INVALID_REQUEST', 'You may not specify both topic name and topic id.')
  }
  if (name === null && topicId === ZERO_UUID) {
    throw new KafkaError('INVALID_REQUEST', 'Neither topic name nor id were specified.')
  }
  const byName = name === null ? undefined : image.topicsByName.get(name)
  const topic = name === null ? image.topicsById.get(topicId) : byName
  const times = all.filter(
    other => same(target, other) || other.topicId === topic?.topicId || other.name === topic?.name,
  )
  if (times.length > 1) {
    const what = name === null ? 'id' : 'name'
    throw new KafkaError('INVALID_REQUEST', `Duplicate topic ${what}.`)
  }
  if (topic !== undefined) return topic
  if (name === null) throw new KafkaError('UNKNOWN_TOPIC_ID', 'This server does not host this topic ID.')
  throw new KafkaError('UNKNOWN_TOPIC_OR_PARTITION', 'This server does not host this topic-partition.')
}
