// The broker's own compacted topic: what groups committed lies in it once each, is found again over the holes, and goes when it is
// deleted or expires.

import { describe, expect, it } from 'vitest'
import { CONSUMER_OFFSETS } from '../../src/broker/internal-topics.ts'
import { deleteGroups } from '../../src/protocol/apis/delete-groups.ts'
import { findCoordinator } from '../../src/protocol/apis/find-coordinator.ts'
import { incrementalAlterConfigs } from '../../src/protocol/apis/incremental-alter-configs.ts'
import { offsetCommit } from '../../src/protocol/apis/offset-commit.ts'
import { offsetFetch } from '../../src/protocol/apis/offset-fetch.ts'
import { decodeGroupRecord } from '../../src/protocol/embedded/group-records.ts'
import { eachBatch } from '../../src/records/batch-header.ts'
import { readRecords } from '../../src/records/batch-reader.ts'
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

  constructor(configs: Record<string, string> = {}) {
    this.#configs = { 'offsets.topic.num.partitions': '1', ...configs }
  }

  start(isNew: boolean): TestConnection {
    const { env, storage } = this
    this.#broker = startTestBroker({ env, storage, configs: this.#configs, topics: isNew ? TOPICS : undefined })
    const connection = this.#broker.connect()
    // The first who asks has the topic made.
    connection.send(findCoordinator, 4, { keyType: 0, coordinatorKeys: ['g'] })()
    env.advance(1000)
    if (!isNew) return connection
    const configs = [
      ['internal.segment.bytes', '2000'],
      ['delete.retention.ms', '60000'],
    ].map(([name, value]) => ({ name, configOperation: 0, value }))
    const resources = [{ resourceType: 2, resourceName: CONSUMER_OFFSETS, configs }]
    expect(connection.call(incrementalAlterConfigs, 1, { resources, validateOnly: false }).responses[0].errorCode).toBe(
      0,
    )
    return connection
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
    for (let offset = this.log.logStartOffset; ; ) {
      const { parts } = this.log.read(offset, { maxBytes: 1, minOneBatch: true, isolation: 'log_end' })
      if (parts.length === 0) return found
      const bytes = concat(parts)
      eachBatch(bytes, at => {
        for (const { key, value, offset: recordOffset } of readRecords(bytes, at, platform)) {
          const record = decodeGroupRecord(key as Uint8Array, value)
          offset = recordOffset
          if (record?.type !== 'offsetCommit' || record.key.group !== group) continue
          found.push(record.value === null ? null : record.value.offset)
        }
      })
      offset++
    }
  }
}

function commit(connection: TestConnection, groupId: string, offset: number): void {
  const partitions = [0, 1, 2].map(partitionIndex => ({ partitionIndex, committedOffset: offset }))
  const answer = connection.call(offsetCommit, 8, { groupId, topics: [{ name: 't', partitions }] })
  expect(answer.topics[0].partitions[0].errorCode).toBe(0)
}

function committed(connection: TestConnection, groupId: string): number[] {
  const topics = [{ name: 't', partitionIndexes: [0, 1, 2] }]
  const answer = connection.call(offsetFetch, 8, { groups: [{ groupId, topics }] })
  return answer.groups[0].topics[0].partitions.map(({ committedOffset }) => committedOffset)
}

describe('the topic of committed offsets', () => {
  it('stays small, and a broker that is started again finds everything in it', () => {
    const place = new Place()
    const connection = place.start(true)
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

  it.each([
    ['is deleted', {}],
    ['expires', { 'offsets.retention.minutes': '1', 'offsets.retention.check.interval.ms': '10000' }],
  ])('forgets what %s: first there is a tombstone, then nothing', (what, configs) => {
    const place = new Place(configs)
    const connection = place.start(true)
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
