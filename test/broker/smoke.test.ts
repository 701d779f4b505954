import { expect, it } from 'vitest'
import { apiVersions } from '../../src/protocol/apis/api-versions.ts'
import { createTopics } from '../../src/protocol/apis/create-topics.ts'
import { fetch } from '../../src/protocol/apis/fetch.ts'
import { metadata } from '../../src/protocol/apis/metadata.ts'
import { produce } from '../../src/protocol/apis/produce.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { readRecords } from '../../src/records/batch-reader.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { platform, startTestBroker } from './harness.ts'

it('creates a topic, appends to it and reads it back', () => {
  const broker = startTestBroker()
  const client = broker.connect()
  expect(client.call(apiVersions, 3, { clientSoftwareName: 'test', clientSoftwareVersion: '1' }).errorCode).toBe(0)
  const created = client.call(createTopics, 7, { topics: [{ name: 'orders', numPartitions: 2, replicationFactor: 1 }] })
  expect(created.topics[0]).toMatchObject({ name: 'orders', errorCode: 0, numPartitions: 2 })
  const { topics } = client.call(metadata, 12, { topics: [{ name: 'orders' }] })
  expect(topics[0]).toMatchObject({ errorCode: 0, partitions: [{ leaderId: 1 }, { leaderId: 1 }] })

  const records = buildBatch({ records: [{ value: utf8Encode('a') }, { value: utf8Encode('b') }] })
  const topicId = topics[0].topicId
  const produced = client.call(produce, 13, {
    acks: -1,
    timeoutMs: 1000,
    topicData: [{ topicId, partitionData: [{ index: 1, records }] }],
  })
  expect(produced.responses[0].partitionResponses[0]).toMatchObject({ errorCode: 0, baseOffset: 0 })
  const fetched = client.call(fetch, 17, {
    maxWaitMs: 500,
    minBytes: 1,
    topics: [{ topicId, partitions: [{ partition: 1, fetchOffset: 0, partitionMaxBytes: 1e6 }] }],
  })
  const [partition] = fetched.responses[0].partitions
  expect(partition).toMatchObject({ errorCode: 0, highWatermark: 2 })
  const values = readRecords(partition.records as Uint8Array, 0, platform).map(record =>
    utf8Decode(record.value as Uint8Array),
  )
  expect(values).toEqual(['a', 'b'])
})
