import { expect, it } from 'vitest'
import { describeTopicPartitions, incrementalAlterConfigs } from '../../src/protocol/apis/index.ts'
import { ERROR_CODES } from '../../src/protocol/errors.ts'
import { startTestBroker } from './harness.ts'

/** What differential fuzzing found in admin requests, and Apache Kafka 4.4 answered otherwise. */

it('a cursor behind the last partition of its topic tells nothing of it, and the page is as long as any', () => {
  const client = startTestBroker({
    topics: [{ name: 'a' }, { name: 'b', partitions: 2 }, { name: 'c', partitions: 2 }],
  }).connect()
  const { topics, nextCursor } = client.call(describeTopicPartitions, 0, {
    topics: [{ name: 'a' }, { name: 'b' }, { name: 'c' }],
    responsePartitionLimit: 2,
    cursor: { topicName: 'a', partitionIndex: 2 },
  })
  expect(topics.map(({ name, partitions }) => [name, partitions.length])).toEqual([
    ['a', 0],
    ['b', 2],
  ])
  expect(nextCursor).toEqual({ topicName: 'c', partitionIndex: 0 })
})

it('an operation that nobody knows is found after a list operation on what is no list', () => {
  const client = startTestBroker({ topics: [{ name: 't' }] }).connect()
  const alter = (configs: { name: string; configOperation: number; value: string }[]) =>
    client.call(incrementalAlterConfigs, 1, { resources: [{ resourceType: 2, resourceName: 't', configs }] })
      .responses[0].errorCode
  const unknown = { name: 'retention.ms', configOperation: 4, value: '400' }
  expect(alter([unknown])).toBe(ERROR_CODES.INVALID_REQUEST)
  expect(alter([unknown, { name: 'segment.ms', configOperation: 3, value: '7' }])).toBe(ERROR_CODES.INVALID_CONFIG)
})
