import { describeLogDirs } from '../../protocol/apis/describe-log-dirs.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import { handler } from '../handler.ts'

/** Where this broker keeps its logs, how large they are, and how much room is left. There is one place. */
export const describeLogDirsHandler = handler(
  describeLogDirs,
  (request, { broker }) => {
    const { path, totalBytes, usableBytes } = broker.replicas.storageUsage()
    const wanted =
      request.topics && new Map(request.topics.map(({ topic, partitions }) => [topic, new Set(partitions)]))
    const topics = new Map<string, { partitionIndex: number; partitionSize: number }[]>()
    let failed = false
    for (const partition of broker.replicas.all()) {
      if (partition.failure) failed = true
      if (wanted !== null && !wanted.get(partition.topic)?.has(partition.index)) continue
      const size = {
        partitionIndex: partition.index,
        partitionSize: broker.replicas.existingLog(partition)?.sizeInBytes ?? 0,
      }
      const known = topics.get(partition.topic)
      if (known === undefined) topics.set(partition.topic, [size])
      else known.push(size)
    }
    const described = [...topics].map(([name, partitions]) => ({ name, partitions }))
    return {
      results: [
        {
          errorCode: failed ? ERROR_CODES.KAFKA_STORAGE_ERROR : 0,
          logDir: path,
          topics: described,
          totalBytes,
          usableBytes,
        },
      ],
    }
  },
  {
    differs: [
      'In memory mode the directory is called /memory, and its size is the memory limit.',
      'The error of a log directory says that a replica in it is offline; the others go on, while Kafka gives up the whole directory.',
    ],
  },
)
