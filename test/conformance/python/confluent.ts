/** confluent-kafka of Python, as Debian packages it, under Debian's Python: years behind, on purpose. */
import type { FailoverClient } from '../client.ts'
import { jsonVerbs } from '../json-client.ts'
import { DEBIAN_PYTHON, driver, pythonVersion } from './environment.ts'

export const confluentKafka: FailoverClient = {
  name: 'confluent-kafka (Python)',
  lacks: {},
  requests: {
    versions: {
      ApiVersions: [3],
      Metadata: [4],
      Produce: [7],
      InitProducerId: [4],
      Fetch: [11],
      ListOffsets: [2],
      FindCoordinator: [2],
      JoinGroup: [5],
      SyncGroup: [3],
      Heartbeat: [3],
      LeaveGroup: [1],
      OffsetCommit: [7],
      OffsetFetch: [7],
      CreateTopics: [4],
      DeleteTopics: [1],
    },
    connections: { produce: 1, read: 2, member: 2, admin: 2 },
  },

  probe: () =>
    pythonVersion(
      DEBIAN_PYTHON,
      'import confluent_kafka as c; print(c.version()[0] + ", librdkafka " + c.libversion()[0])',
      'Debian: apt-get install python3-confluent-kafka',
    ),

  ...jsonVerbs(() => [DEBIAN_PYTHON, '-B', driver('confluent_driver.py')]),
}
