import { api, array, int16, int32, string, struct, uuid } from '../dsl.ts'

/** Deletes topics. Version 4 is flexible, 5 has error messages, 6 takes names or ids (KIP-516). */
export const deleteTopics = api({
  key: 20,
  name: 'DeleteTopics',
  versions: [1, 6],
  flexible: 4,
  request: struct({
    topics: array(
      struct({
        name: string().nullable().default(null),
        topicId: uuid(),
      }),
    ).since(6),
    topicNames: array(string()).until(5).ignorable(),
    timeoutMs: int32(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    responses: array(
      struct({
        name: string().nullable(6),
        topicId: uuid().since(6).ignorable(),
        errorCode: int16(),
        errorMessage: string().since(5).nullable(5).default(null).ignorable(),
      }),
    ),
  }),
})
