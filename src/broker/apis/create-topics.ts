import { createTopics } from '../../protocol/apis/create-topics.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Makes topics. The controller decides (\`cluster/\`); the answer waits until this broker, too, knows them. */
export const createTopicsHandler = handler(createTopics, (request, context) =>
  forward('createTopics', request, context),
)
