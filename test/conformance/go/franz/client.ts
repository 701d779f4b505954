/** franz-go, a client in Go, from the Go modules; its program is main.go. */
import type { FailoverClient } from '../../client.ts'
import { jsonVerbs } from '../../json-client.ts'
import { build, program } from '../build.ts'

export const franzGo: FailoverClient = {
  name: 'franz-go',
  lacks: {},
  remarks: {
    'error: the topic goes while it is consumed': 'after it was told to forget the old topic',
    'error: the broker restarts, empty, while it is used': 'after it was told to forget the old topic',
  },
  requests: {
    versions: {
      ApiVersions: [5],
      Metadata: [13],
      CreateTopics: [7],
      DeleteTopics: [6],
      Produce: [13],
      InitProducerId: [5],
      Fetch: [18],
      FindCoordinator: [6],
      JoinGroup: [9],
      SyncGroup: [5],
      OffsetFetch: [10],
      ListOffsets: [11],
      Heartbeat: [4],
      OffsetCommit: [10],
      OffsetForLeaderEpoch: [4],
      LeaveGroup: [5],
    },
    // It opens one for each kind of request: produce, fetch, those that wait, all others.
    connections: { produce: 3, read: 3, member: 7, admin: 2 },
  },

  probe: () => build('franz', 'github.com/twmb/franz-go'),

  ...jsonVerbs(() => [program('franz')]),
}
