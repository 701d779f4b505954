import { describeLogDirs } from '../../protocol/apis/describe-log-dirs.ts'
import { handler } from '../handler.ts'

/** Where this broker keeps its logs, how large they are, and how much room is left. There is one place. */
export const describeLogDirsHandler = handler(
  describeLogDirs,
  (request, { broker }) => {
    const { path, totalBytes, usableBytes } = broker.replicas.storageUsage()
    const wanted =
      request.topics && new Map(request.topics.map(({ topic, partitions }) => [topic, new Set(partitions)]))
    const topics = new Map<string, { partitionIndex: number; partitionSize: number }[]>()
    for (const partition of broker.replicas.all()) {
      if (wanted !== null && !wanted.get(partition.topic)?.has(partition.index)) continue
      const size = { partitionIndex: partition.index, partitionSize: partition.openedLog?.sizeInBytes ?? 0 }
      const known = topics.get(partition.topic)
      if (known === undefined) topics.set(partition.topic, [size])
      else known.push(size)
    }
    const described = [...topics].map(([name, partitions]) => ({ name, partitions }))
    return { results: [{ errorCode: 0, logDir: path, topics: described, totalBytes, usableBytes }] }
  },
  { differs: ['In memory mode the directory is called /memory, and its size is the memory limit.'] },
)
