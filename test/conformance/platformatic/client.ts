/** @platformatic/kafka, from this folder's own package.json, under the newer Node that comes with it from npm. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../child.ts'
import type { FailoverClient } from '../client.ts'
import { jsonVerbs } from '../json-client.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const node = path('node_modules/node/bin/node')
const manifest = path('node_modules/@platformatic/kafka/package.json')

export const platformatic: FailoverClient = {
  name: '@platformatic/kafka',
  lacks: {},
  remarks: {
    'consume by partition': 'in a group of one, because it consumes in groups only',
    'error: the topic goes while it is consumed': 'it ends with an error',
    'error: the broker restarts, empty, while it is used':
      'the consumer ends with an error, because the topic has a new id, and is started anew',
  },
  endsWithTopic: true,
  goesOnFromItsOwn:
    'when a partition gets another leader while it waits for the old one, it asks both and hands on what both answer; what it had asked for before an assignment it hands on after it; and where its group has committed nothing it stays where it is',
  requests: {
    versions: {
      ApiVersions: [3],
      Metadata: [12],
      Produce: [11],
      InitProducerId: [5],
      Fetch: [17],
      ListOffsets: [9],
      FindCoordinator: [6],
      JoinGroup: [9],
      SyncGroup: [5],
      Heartbeat: [4],
      LeaveGroup: [5],
      OffsetCommit: [9],
      OffsetFetch: [9],
      CreateTopics: [7],
      DeleteTopics: [6],
    },
    connections: { produce: 1, read: 2, member: 2, admin: 1 },
  },

  async probe() {
    const install = 'run npm ci in test/conformance/platformatic'
    if (!existsSync(manifest)) return { missing: `@platformatic/kafka is not installed (${install})` }
    const nodeVersion = await runProgram(node, ['--version']).catch(() => undefined)
    if (!nodeVersion) return { missing: `its Node does not run (${install})` }
    return { version: `${JSON.parse(readFileSync(manifest, 'utf8')).version} on Node ${nodeVersion[0].slice(1)}` }
  },

  ...jsonVerbs(() => [node, path('driver.mjs')]),
}
