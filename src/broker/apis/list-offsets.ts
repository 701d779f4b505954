import { listOffsets } from '../../protocol/apis/list-offsets.ts'
import type { Decoded } from '../../protocol/dsl.ts'
import { ERROR_CODES, KafkaError } from '../../protocol/errors.ts'
import { repeated } from '../../util/repeated.ts'
import { handler, type RequestContext } from '../handler.ts'
import type { Partition } from '../partition.ts'

/**
 * Offsets by time: the first record at or after a timestamp, or one of the marks that negative numbers stand for
 * (`ReplicaManager.fetchOffset`, `UnifiedLog.fetchOffsetByTimestamp`).
 */

const LATEST = -1
const EARLIEST = -2
const MAX_TIMESTAMP = -3
const EARLIEST_LOCAL = -4
const LATEST_TIERED = -5
const EARLIEST_PENDING_UPLOAD = -6

/** From which version on a mark can be asked for. */
const SINCE: Readonly<Record<number, number>> = {
  [LATEST]: 1,
  [EARLIEST]: 1,
  [MAX_TIMESTAMP]: 7,
  [EARLIEST_LOCAL]: 8,
  [LATEST_TIERED]: 9,
  [EARLIEST_PENDING_UPLOAD]: 11,
}

type Request = Decoded<typeof listOffsets.request>
type Asked = Request['topics'][number]['partitions'][number]

interface Found {
  timestamp: number
  offset: number
  leaderEpoch: number
}

const NOTHING: Found = { timestamp: -1, offset: -1, leaderEpoch: -1 }

export const listOffsetsHandler = handler(
  listOffsets,
  (request, context) => ({
    topics: request.topics.map(({ name, partitions }) => {
      const twice = repeated(partitions.map(({ partitionIndex }) => partitionIndex))
      const unique = new Map(partitions.map(asked => [asked.partitionIndex, asked]))
      return {
        name,
        partitions: [...unique].map(([partitionIndex, asked]) => ({
          partitionIndex,
          ...lookUp(name, asked, request, twice.has(partitionIndex), context),
        })),
      }
    }),
  }),
  {
    differs: [
      'There is no tiered storage: the marks -5 and -6 are answered with offset -1.',
      'The maximum timestamp (-3) is that of the records that are left; Kafka goes on counting those that DeleteRecords took away while their segment is there.',
    ],
  },
)

function lookUp(topic: string, asked: Asked, request: Request, twice: boolean, { broker, apiVersion }: RequestContext) {
  try {
    if (twice) throw new KafkaError('INVALID_REQUEST')
    if (asked.timestamp < 0 && apiVersion < (SINCE[asked.timestamp] ?? Number.POSITIVE_INFINITY)) {
      throw new KafkaError('UNSUPPORTED_VERSION')
    }
    const partition = broker.replicas.leader(topic, asked.partitionIndex, asked.currentLeaderEpoch)
    const found = find(partition, asked.timestamp, request, apiVersion)
    // Answers have a leader epoch since version 4 (KIP-320), and the field cannot be left out silently.
    return { errorCode: 0, ...found, leaderEpoch: apiVersion < 4 ? -1 : found.leaderEpoch }
  } catch (error) {
    if (!(error instanceof KafkaError)) throw error
    return { errorCode: ERROR_CODES[error.error], ...NOTHING }
  }
}

/** A new leader that does not know yet what its followers have cannot tell what is the end, or behind it (KIP-207). */
function refuseWhileLagging(partition: Partition, request: Request, apiVersion: number): void {
  if (request.replicaId !== -1 || !partition.highWatermarkLags) return
  throw new KafkaError(apiVersion >= 5 ? 'OFFSET_NOT_AVAILABLE' : 'LEADER_NOT_AVAILABLE')
}

function find(partition: Partition, timestamp: number, request: Request, apiVersion: number): Found {
  const { log } = partition
  const readCommitted = request.isolationLevel === 1
  // Only a consumer is kept below the watermark; tools that debug (replica id -2) see the whole log.
  const bound = request.replicaId !== -1 ? log.logEndOffset : readCommitted ? log.lastStableOffset : log.highWatermark
  switch (timestamp) {
    case LATEST:
      refuseWhileLagging(partition, request, apiVersion)
      return { timestamp: -1, offset: bound, leaderEpoch: partition.leaderEpoch }
    case EARLIEST:
    case EARLIEST_LOCAL:
      return { timestamp: -1, offset: log.logStartOffset, leaderEpoch: log.epochForOffset(log.logStartOffset) ?? -1 }
    case LATEST_TIERED:
    case EARLIEST_PENDING_UPLOAD:
      return NOTHING
    default: {
      const found = timestamp === MAX_TIMESTAMP ? log.maxTimestamp() : log.offsetForTimestamp(timestamp)
      if (found !== undefined && found.offset < bound) return found
      refuseWhileLagging(partition, request, apiVersion)
      return NOTHING
    }
  }
}
