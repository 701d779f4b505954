import { deleteTopics } from '../../protocol/apis/delete-topics.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Deletes topics by name or id. The controller decides, unless `delete.topic.enable` is off. */
export const deleteTopicsHandler = handler(deleteTopics, (request, context) => {
  const { broker, apiVersion } = context
  if (broker.config.boolean('delete.topic.enable')) return forward('deleteTopics', request, context)
  // Clients of version 1 and 2 do not know the code that says so.
  const errorCode = apiVersion < 3 ? ERROR_CODES.INVALID_REQUEST : ERROR_CODES.TOPIC_DELETION_DISABLED
  const topics = apiVersion >= 6 ? request.topics : request.topicNames.map(name => ({ name, topicId: undefined }))
  return { responses: topics.map(({ name, topicId }) => ({ name, topicId, errorCode })) }
})
