/** aiokafka, the client for asyncio, from PyPI. */
import type { ConformanceClient } from '../client.ts'
import { jsonVerbs } from '../json-client.ts'
import { driver, pythonVersion, VENV_PYTHON } from './environment.ts'

export const aiokafka: ConformanceClient = {
  name: 'aiokafka',
  lacks: {},
  requests: {
    versions: {
      ApiVersions: [0],
      Metadata: [5],
      CreateTopics: [3],
      DeleteTopics: [3],
      Produce: [7],
      InitProducerId: [0],
      Fetch: [11],
      FindCoordinator: [1],
      JoinGroup: [5],
      SyncGroup: [3],
      OffsetFetch: [3],
      ListOffsets: [3],
      Heartbeat: [1],
      OffsetCommit: [3],
      LeaveGroup: [1],
    },
    connections: { produce: 2, read: 2, member: 3, admin: 3 },
  },

  probe: () =>
    pythonVersion(VENV_PYTHON, 'import aiokafka; print(aiokafka.__version__)', 'run test/conformance/python/setup'),

  ...jsonVerbs(() => [VENV_PYTHON, '-B', driver('aiokafka_driver.py')]),
}
