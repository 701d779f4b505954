/**
 * The hands of the run itself: topics made, filled and looked at for the client under test.
 *
 * Uses kafkajs inside the test's process, because every checkout has it. It does no more than is needed to put a
 * client into its situation; what a client stored is read with `wire.ts`.
 */
import { type Admin, Kafka, logLevel, type Producer } from 'kafkajs'
import { waitUntil } from './child.ts'

export interface Reference {
  createTopic(topic: string, partitions: number, configs?: Record<string, string>): Promise<void>
  deleteTopic(topic: string): Promise<void>
  topicExists(topic: string): Promise<boolean>
  topicConfig(topic: string, name: string): Promise<string | undefined>
  /** Waits until every partition has a leader. */
  partitionCount(topic: string): Promise<number>
  /** Sends one record per value to one partition. */
  send(topic: string, partition: number, values: string[]): Promise<void>
  /** The committed offset of a group; -1 when there is none. */
  committedOffset(group: string, topic: string, partition: number): Promise<number>
  close(): Promise<void>
}

export async function startReference(bootstrapServers: string): Promise<Reference> {
  const kafka = new Kafka({
    clientId: 'conformance-reference',
    brokers: [bootstrapServers],
    logLevel: logLevel.NOTHING,
  })
  const admin = kafka.admin()
  const producer = kafka.producer({ allowAutoTopicCreation: false })
  await Promise.all([admin.connect(), producer.connect()])
  return {
    createTopic: (topic, partitions, configs) => createTopic(admin, topic, partitions, configs ?? {}),
    deleteTopic: topic => admin.deleteTopics({ topics: [topic] }),
    topicExists: async topic => (await admin.listTopics()).includes(topic),
    async topicConfig(topic, name) {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: 2, name: topic, configNames: [name] }],
      })
      return resources[0].configEntries[0]?.configValue
    },
    partitionCount: topic => partitionCount(admin, topic),
    send: (topic, partition, values) => send(producer, topic, partition, values),
    async committedOffset(groupId, topic, partition) {
      const [found] = await admin.fetchOffsets({ groupId, topics: [topic] })
      return Number(found?.partitions.find(each => each.partition === partition)?.offset ?? -1)
    },
    async close() {
      await Promise.all([admin.disconnect(), producer.disconnect()])
    },
  }
}

async function createTopic(
  admin: Admin,
  topic: string,
  numPartitions: number,
  configs: Record<string, string>,
): Promise<void> {
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }))
  const created = await admin.createTopics({ topics: [{ topic, numPartitions, configEntries }], waitForLeaders: false })
  if (!created) throw new Error(`the topic ${topic} exists already`)
  await partitionCount(admin, topic)
}

/** Apache Kafka answers CreateTopics before its metadata shows the topic, so this waits until every partition is led. */
async function partitionCount(admin: Admin, topic: string): Promise<number> {
  const ledPartitions = async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    const { partitions } = topics[0]
    return partitions.every(partition => partition.leader >= 0) && partitions.length
  }
  return waitUntil(
    () => ledPartitions().catch(() => false as const),
    () => `every partition of ${topic} has a leader`,
  )
}

async function send(producer: Producer, topic: string, partition: number, values: string[]): Promise<void> {
  await producer.send({ topic, acks: -1, messages: values.map(value => ({ partition, key: `k-${value}`, value })) })
}
