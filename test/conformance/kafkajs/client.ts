/** kafkajs, as the root's package.json names it; its driver program runs under the Node that runs the tests. */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { FailoverClient } from '../client.ts'
import { jsonVerbs } from '../json-client.ts'

const CODEC = 'kafkajs has gzip built in; the other codecs are packages of their own'

export const kafkajs: FailoverClient = {
  name: 'kafkajs',
  lacks: {
    'auto.offset.reset none': 'kafkajs knows fromBeginning, true or false',
    'codec snappy': CODEC,
    'codec lz4': CODEC,
    'codec zstd': CODEC,
  },
  remarks: { 'consume by partition': 'in a group of one, because it consumes in groups only' },
  requests: {
    versions: {
      ApiVersions: [2],
      Metadata: [6],
      Produce: [7],
      InitProducerId: [1],
      Fetch: [11],
      ListOffsets: [3],
      FindCoordinator: [2],
      JoinGroup: [5],
      SyncGroup: [3],
      Heartbeat: [3],
      LeaveGroup: [3],
      OffsetCommit: [5],
      OffsetFetch: [4],
      CreateTopics: [3],
      DeleteTopics: [1],
      DescribeGroups: [2],
    },
    connections: { produce: 1, read: 2, member: 2, admin: 1 },
  },

  async probe() {
    try {
      return { version: createRequire(import.meta.url)('kafkajs/package.json').version }
    } catch {
      return { missing: 'kafkajs is not installed (npm ci)' }
    }
  },

  ...jsonVerbs(() => [process.execPath, fileURLToPath(new URL('driver.mjs', import.meta.url))]),
}
