/** The `partition.metadata` file of a log's directory: whose log it is (Kafka's `PartitionMetadataFile`). */

import { readWhole } from '../storage/read-whole.ts'
import type { Storage, StorageFailure } from '../storage/storage.ts'
import type { Later } from '../util/later.ts'
import { utf8Decode, utf8Encode } from '../util/utf8.ts'

/** The file of a log that says which topic it belongs to. */
export const METADATA_FILE = 'partition.metadata'
const VERSION = 0

/** The id of the topic whose log is in a directory; undefined when the file is not there or says none. */
export function readTopicId(storage: Storage, directory: string): string | undefined {
  const bytes = readWhole(storage, `${directory}/${METADATA_FILE}`)
  if (bytes === undefined) return undefined
  const fields = new Map(
    utf8Decode(bytes)
      .split('\n')
      .map(line => line.split(':', 2).map(part => part.trim()) as [string, string]),
  )
  return fields.get('version') === String(VERSION) ? fields.get('topic_id') : undefined
}

export function writeTopicId(storage: Storage, directory: string, topicId: string): Later<StorageFailure | undefined> {
  return storage.replace(`${directory}/${METADATA_FILE}`, utf8Encode(`version: ${VERSION}\ntopic_id: ${topicId}`))
}
