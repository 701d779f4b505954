// The broker's own compacted topic: what groups committed lies in it once each, is found again over the holes, and goes when it is
// deleted or expires.

import { describe, expect, it } from 'vitest'
import { CONSUMER_OFFSETS } from '../../src/broker/internal-topics.ts'
import type { TopicDeclaration } from '../../src/cluster/hub.ts'
import { deleteGroups } from '../../src/protocol/apis/delete-groups.ts'
import { findCoordinator } from '../../src/protocol/apis/find-coordinator.ts'
import { incrementalAlterConfigs } from '../../src/protocol/apis/incremental-alter-configs.ts'
import { offsetCommit } from '../../src/protocol/apis/offset-commit.ts'
import { offsetFetch } from '../../src/protocol/apis/offset-fetch.ts'
import { decodeGroupRecord } from '../../src/protocol/embedded/group-records.ts'
import { batchLastOffset, batchSize } from '../../src/records/batch-header.ts'
import { type RecordData, readRecords } from '../../src/records/batch-reader.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform, startTestBroker, type TestBroker, type TestConnection } from './harness.ts'

const MINUTE_MS = 60_000
const TOPICS = [{ name: 't', partitions: 3 }]

class Place {
  readonly env = new VirtualEnv()
  readonly storage = new MemoryStorage({ turns: this.env.turns })
  readonly #configs: Record<string, string>
  #broker: TestBroker | undefined

  readonly #topics: TopicDeclaration[]

  constructor(configs: Record<string, string> = {}, topics: TopicDeclaration[] = TOPICS) {
    this.#configs = { 'offsets.topic.num.partitions': '1', ...configs }
    this.#topics = topics
  }

  /** @param segmentBytes how large the segments of the topic are; as Kafka has them, when left out */
  start(isNew: boolean, segmentBytes?: number): TestConnection {
    const { env, storage } = this
    this.#broker = startTestBroker({ env, storage, configs: this.#configs, topics: isNew ? this.#topics : undefined })
    const connection = this.#broker.connect()
    // The first who asks has the topic made.
    connection.send(findCoordinator, 4, { keyType: 0, coordinatorKeys: ['g'] })()
    env.advance(1000)
    if (!isNew || segmentBytes === undefined) return connection
    const configs = [
      ['internal.segment.bytes', `${segmentBytes}`],
      ['delete.retention.ms', '60000'],
    ].map(([name, value]) => ({ name, configOperation: 0, value }))
    const resources = [{ resourceType: 2, resourceName: CONSUMER_OFFSETS, configs }]
    expect(connection.call(incrementalAlterConfigs, 1, { resources, validateOnly: false }).responses[0].errorCode).toBe(
      0,
    )
    return connection
  }

  connect(): TestConnection {
    return (this.#broker as TestBroker).connect()
  }

  stop(): void {
    const { cluster } = this.#broker as TestBroker
    cluster.shutdown()
    this.env.settle()
    cluster.broker(1).replicas.close()
    cluster.metadataLog.close()
    this.env.settle()
  }

  get log() {
    return (this.#broker as TestBroker).cluster.broker(1).replicas.leader(CONSUMER_OFFSETS, 0).log
  }

  /** What the log says of a group, the oldest first: the committed offset, or null where it was deleted. */
  recordsOf(group: string): (number | null)[] {
    const found: (number | null)[] = []
    for (const { key, value } of this.#all()) {
      const record = decodeGroupRecord(key as Uint8Array, value)
      if (record?.type !== 'offsetCommit' || record.key.group !== group) continue
      found.push(record.value === null ? null : record.value.offset)
    }
    return found
  }

  /** How many records there are. */
  get records(): number {
    return [...this.#all()].length
  }

  *#all(): Generator<RecordData, void> {
    for (let offset = this.log.logStartOffset; ; ) {
      const { parts } = this.log.read(offset, { maxBytes: 1, minOneBatch: true, isolation: 'log_end' })
      if (parts.length === 0) return
      const bytes = concat(parts)
      for (let at = 0; at < bytes.length; at += batchSize(bytes, at)) {
        yield* readRecords(bytes, at, platform)
        offset = batchLastOffset(bytes, at) + 1
      }
    }
  }
}

function commit(connection: TestConnection, groupId: string, offset: number, of = [0, 1, 2]): void {
  const partitions = of.map(partitionIndex => ({ partitionIndex, committedOffset: offset }))
  const answer = connection.call(offsetCommit, 8, { groupId, topics: [{ name: 't', partitions }] })
  expect(answer.topics[0].partitions[0].errorCode).toBe(0)
}

function committed(connection: TestConnection, groupId: string, partitionIndexes = [0, 1, 2]): number[] {
  const topics = [{ name: 't', partitionIndexes }]
  const answer = connection.call(offsetFetch, 8, { groups: [{ groupId, topics }] })
  return answer.groups[0].topics[0].partitions.map(({ committedOffset }) => committedOffset)
}

describe('the topic of committed offsets', () => {
  it('stays small, and a broker that is started again finds everything in it', () => {
    const place = new Place()
    const connection = place.start(true, 2000)
    for (let count = 0; count <= 400; count++) commit(connection, count % 2 === 0 ? 'even' : 'odd', count)
    const { sizeInBytes, logEndOffset } = place.log
    expect(logEndOffset).toBe(3 * 401)
    place.env.advance(MINUTE_MS)
    expect(place.log.sizeInBytes).toBeLessThan(sizeInBytes / 20)
    expect(place.log.logEndOffset).toBe(logEndOffset)
    expect([committed(connection, 'even'), committed(connection, 'odd')]).toEqual([
      Array(3).fill(400),
      Array(3).fill(399),
    ])
    place.stop()
    const again = place.start(false)
    expect([committed(again, 'even'), committed(again, 'odd')]).toEqual([Array(3).fill(400), Array(3).fill(399)])
    commit(again, 'even', 401)
    expect(committed(again, 'even')).toEqual(Array(3).fill(401))
    place.stop()
  })

  it('is small after months, and quickly read, with the segments that Kafka has', () => {
    const groups = Array.from({ length: 50 }, (_, index) => `group-${index}`)
    const partitions = Array.from({ length: 80 }, (_, index) => index)
    const days = 50
    // Looking for something to clean every 15 seconds would be most of what is done in these months.
    const place = new Place({ 'log.cleaner.backoff.ms': `${60 * MINUTE_MS}` }, [{ name: 't', partitions: 80 }])
    Object.defineProperty(place.storage, 'isVolatile', { value: false })
    place.start(true)
    for (let day = 0; day < days; day++) {
      // No connection is kept for a day without a request.
      const connection = place.connect()
      for (const group of groups) commit(connection, group, day, partitions)
      place.env.advance(24 * 60 * MINUTE_MS)
    }
    expect(place.log.logEndOffset).toBe(days * groups.length * partitions.length)
    // What was committed in the week of the active segment, and the last of what was before, with its day.
    const most = 9 * groups.length * partitions.length
    expect(place.records).toBeLessThan(most)
    place.stop()
    const again = place.start(false)
    expect(place.records).toBeLessThan(most)
    for (const group of groups) expect(committed(again, group, partitions)).toEqual(partitions.map(() => days - 1))
    place.stop()
  }, 180_000)

  it.each([
    ['is deleted', {}],
    ['expires', { 'offsets.retention.minutes': '1', 'offsets.retention.check.interval.ms': '10000' }],
  ])('forgets what %s: first there is a tombstone, then nothing', (what, configs) => {
    const place = new Place(configs)
    const connection = place.start(true, 2000)
    for (let count = 0; count < 20; count++) commit(connection, 'gone', count)
    if (what === 'is deleted') {
      expect(connection.call(deleteGroups, 2, { groupsNames: ['gone'] }).results[0].errorCode).toBe(0)
    } else {
      place.env.advance(MINUTE_MS + 11_000)
    }
    expect(place.recordsOf('gone').slice(-3)).toEqual([null, null, null])
    expect(committed(connection, 'gone')).toEqual([-1, -1, -1])
    const others = () => {
      for (let count = 0; count < 40; count++) commit(connection, 'other', count)
      place.env.advance(MINUTE_MS / 2)
    }
    others()
    expect(place.recordsOf('gone')).toEqual([null, null, null])
    others()
    place.env.advance(MINUTE_MS)
    others()
    others()
    expect(place.recordsOf('gone')).toEqual([])
    place.stop()
    const again = place.start(false)
    expect(committed(again, 'gone')).toEqual([-1, -1, -1])
    place.stop()
  })
})
