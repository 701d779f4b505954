import type { BrokerConnection } from '../src/broker/sink.ts'
import { Cluster } from '../src/cluster/index.ts'
import { nodeRecordsPlatform } from '../src/node/records-platform.ts'
import { apiVersions } from '../src/protocol/apis/api-versions.ts'
import { describeGroups } from '../src/protocol/apis/describe-groups.ts'
import { fetch } from '../src/protocol/apis/fetch.ts'
import { findCoordinator } from '../src/protocol/apis/find-coordinator.ts'
import { heartbeat } from '../src/protocol/apis/heartbeat.ts'
import { listOffsets } from '../src/protocol/apis/list-offsets.ts'
import { metadata } from '../src/protocol/apis/metadata.ts'
import { offsetCommit } from '../src/protocol/apis/offset-commit.ts'
import { offsetFetch } from '../src/protocol/apis/offset-fetch.ts'
import { produce } from '../src/protocol/apis/produce.ts'
import type { Api, Encodable, Fields, Struct } from '../src/protocol/dsl.ts'
import { encodeRequest } from '../src/protocol/frame.ts'
import { buildBatch } from '../src/records/batch-builder.ts'
import { MemoryStorage } from '../src/storage/memory-storage.ts'
import { concat } from '../src/util/byte-writer.ts'
import { VirtualEnv } from '../src/util/virtual-env.ts'

/**
 * What one request of each kind costs inside the process: bytes in, bytes out, no socket, on a clock that stands still. The
 * figures are to be compared with each other: Heartbeat is the cost of a request that does next to nothing.
 *
 *   npm run bench:requests
 */

const SECONDS = 0.5

/** What the process has used, garbage collection included: on a busy machine the time on the wall says nothing. */
function cpuMicroseconds(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

const env = new VirtualEnv()
const storage = new MemoryStorage({ turns: env.turns })
const cluster = new Cluster({
  env,
  brokers: [{ id: 1, storage, platform: nodeRecordsPlatform }],
  configs: { 'log.retention.bytes': '50000000', 'log.segment.bytes': '10000000', 'log.segment.delete.delay.ms': '0' },
})
cluster.broker(1).register('127.0.0.1', 9092)
env.settle()
cluster.createTopics([{ name: 'orders', partitions: 12 }, { name: 'big' }])
env.settle()

let answered = 0
const connection: BrokerConnection = cluster.broker(1).connect(
  {
    send(_parts, taken) {
      answered++
      taken()
    },
    close() {
      throw new Error('the broker closed the connection')
    },
    pause() {},
    resume() {},
  },
  { host: '127.0.0.1', port: 1, listener: '127.0.0.1:9092' },
)

function frame<Req extends Fields, Res extends Fields>(api: Api<Req, Res>, body: Encodable<Struct<Req>>): Uint8Array {
  const header = { apiKey: api.key, apiVersion: api.versions[1], correlationId: 1, clientId: 'bench' }
  return concat(encodeRequest(api, header, body))
}

/** Sends the same request again and again. Produce patches what it is given, so each gets its own copy. */
function measure(request: Uint8Array): { microseconds: number; bytes: number } {
  const bytes = new Uint8Array(request.length)
  const run = (count: number) => {
    for (let sent = 0; sent < count; sent++) {
      bytes.set(request)
      connection.receive(bytes)
      env.settle()
    }
  }
  run(500)
  const before = answered
  const began = cpuMicroseconds()
  while (cpuMicroseconds() - began < SECONDS * 1e6) {
    run(100)
    // Retention keeps memory level.
    cluster.broker(1).replicas.applyRetention()
  }
  return { microseconds: (cpuMicroseconds() - began) / (answered - before), bytes: request.length }
}

const { topicId } = cluster.broker(1).image.topicsByName.get('orders') as { topicId: string }
const batch = (records: number, size: number) =>
  buildBatch({
    records: Array.from({ length: records }, () => ({ value: new Uint8Array(size) })),
    crc32c: nodeRecordsPlatform.crc32c,
  })
const produceOf = (records: Uint8Array) =>
  frame(produce, { acks: -1, timeoutMs: 1000, topicData: [{ topicId, partitionData: [{ index: 0, records }] }] })

const commit = { partitionIndex: 0, committedOffset: 7, committedMetadata: '' }
const ask = { partition: 0, fetchOffset: 0, partitionMaxBytes: 1 << 20 }
connection.receive(frame(findCoordinator, { coordinatorKeys: ['billing'] }))
env.settle()

const cases: [name: string, request: Uint8Array][] = [
  ['Heartbeat', frame(heartbeat, { groupId: 'none', memberId: 'm', generationId: 1 })],
  ['ApiVersions', frame(apiVersions, { clientSoftwareName: 'bench', clientSoftwareVersion: '1' })],
  ['Metadata, 12 partitions', frame(metadata, { topics: [{ name: 'orders' }] })],
  ['FindCoordinator', frame(findCoordinator, { coordinatorKeys: ['billing'] })],
  ['ListOffsets', frame(listOffsets, { replicaId: -1, topics: [{ name: 'orders', partitions: [{ timestamp: -1 }] }] })],
  ['OffsetCommit', frame(offsetCommit, { groupId: 'billing', topics: [{ topicId, partitions: [commit] }] })],
  [
    'OffsetFetch',
    frame(offsetFetch, { groups: [{ groupId: 'billing', topics: [{ topicId, partitionIndexes: [0] }] }] }),
  ],
  ['DescribeGroups', frame(describeGroups, { groups: ['billing'] })],
  ['Produce 1 x 100 B', produceOf(batch(1, 100))],
  ['Produce 1 x 1 kB', produceOf(batch(1, 1000))],
  ['Produce 15 x 1 kB', produceOf(batch(15, 1000))],
  ['Produce 140 x 100 B', produceOf(batch(140, 100))],
  ['Produce 900 x 1 kB', produceOf(batch(900, 1000))],
  ['Fetch 1 MB', frame(fetch, { maxWaitMs: 0, minBytes: 1, topics: [{ topicId, partitions: [ask] }] })],
]

console.log(`Node ${process.version}\n\n| request | bytes | us |\n|---|--:|--:|`)
for (const [name, request] of cases) {
  // What was appended before may be gone by now: a fetch begins where the log does.
  if (name.startsWith('Fetch')) ask.fetchOffset = cluster.broker(1).replicas.leader('orders', 0).log.logStartOffset
  const fresh = name.startsWith('Fetch')
    ? frame(fetch, { maxWaitMs: 0, minBytes: 1, topics: [{ topicId, partitions: [ask] }] })
    : request
  const { microseconds, bytes } = measure(fresh)
  console.log(`| ${name} | ${bytes} | ${microseconds.toFixed(2)} |`)
}
