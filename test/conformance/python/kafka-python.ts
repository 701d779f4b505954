/** kafka-python twice: as Debian packages it, years behind, and a new one, from PyPI. */
import type { ConformanceClient } from '../client.ts'
import { jsonVerbs } from '../json-client.ts'
import { DEBIAN_PYTHON, driver, pythonVersion, VENV_PYTHON } from './environment.ts'

const VERSION = 'import kafka; print(kafka.__version__)'

export const debianKafkaPython: ConformanceClient = {
  name: 'kafka-python (Debian)',
  lacks: {
    'produce idempotently': 'kafka-python before 2.1 has no idempotent producer',
  },
  requests: {
    versions: {
      ApiVersions: [0],
      Metadata: [0, 1, 5],
      CreateTopics: [3],
      DeleteTopics: [3],
      Produce: [7],
      Fetch: [4],
      FindCoordinator: [0],
      JoinGroup: [2],
      SyncGroup: [1],
      OffsetFetch: [1],
      ListOffsets: [1],
      Heartbeat: [1],
      OffsetCommit: [2],
      LeaveGroup: [1],
    },
    connections: { produce: 2, read: 2, member: 4, admin: 3 },
  },

  probe: () =>
    pythonVersion(
      DEBIAN_PYTHON,
      `import lz4, snappy, zstandard; ${VERSION}`,
      'Debian: apt-get install python3-kafka python3-lz4 python3-snappy python3-zstandard',
    ),

  ...jsonVerbs(() => [DEBIAN_PYTHON, '-B', driver('kafka_python_driver.py')]),
}

export const kafkaPython: ConformanceClient = {
  name: 'kafka-python',
  lacks: {},
  knownFault: 'a member forgets its assignment when that arrives just as the time of poll() runs out',
  requests: {
    versions: {
      ApiVersions: [4],
      Metadata: [8],
      CreateTopics: [3],
      DeleteTopics: [3],
      Produce: [8],
      InitProducerId: [1],
      Fetch: [10],
      FindCoordinator: [2],
      JoinGroup: [5],
      SyncGroup: [3],
      OffsetFetch: [5],
      ListOffsets: [5],
      Heartbeat: [3],
      OffsetCommit: [7],
      LeaveGroup: [3],
    },
    connections: { produce: 2, read: 2, member: 3, admin: 3 },
  },

  probe: () => pythonVersion(VENV_PYTHON, VERSION, 'run test/conformance/python/setup'),

  ...jsonVerbs(() => [VENV_PYTHON, '-B', driver('kafka_python_driver.py')]),
}
