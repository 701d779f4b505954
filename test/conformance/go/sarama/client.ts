/** sarama, a client in Go, from the Go modules; its program is main.go. */
import type { ConformanceClient } from '../../client.ts'
import { jsonVerbs } from '../../json-client.ts'
import { build, program } from '../build.ts'

export const sarama: ConformanceClient = {
  name: 'sarama',
  lacks: { 'auto.offset.reset none': 'sarama begins at the oldest or the newest' },
  requests: {
    versions: {
      ApiVersions: [4],
      Metadata: [11],
      CreateTopics: [7],
      DeleteTopics: [6],
      Produce: [10],
      InitProducerId: [4],
      ListOffsets: [6],
      Fetch: [12],
      FindCoordinator: [3],
      JoinGroup: [8],
      SyncGroup: [5],
      OffsetFetch: [8],
      Heartbeat: [4],
      OffsetCommit: [8],
      LeaveGroup: [5],
    },
    connections: { produce: 2, read: 2, member: 2, admin: 2 },
  },

  probe: () => build('sarama', 'github.com/IBM/sarama'),

  ...jsonVerbs(() => [program('sarama')]),
}
