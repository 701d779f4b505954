/**
 * Apache Kafka's own Java clients, through the command line tools that come with them (see `../../oracle/kafka`).
 *
 * A member of a group is Kafka's VerifiableConsumer, because it prints its assignments; everything else is what a user
 * types: console-producer, console-consumer, kafka-topics, kafka-consumer-groups. Each run costs a second or two of
 * starting a JVM.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Child, runProgram } from '../child.ts'
import {
  type Call,
  type ConformanceClient,
  type ConsumedRecord,
  HEARTBEAT_INTERVAL_MS,
  type JoinOptions,
  type Member,
  SESSION_TIMEOUT_MS,
} from '../client.ts'
import { scratchPath } from '../scratch.ts'

const KAFKA = fileURLToPath(new URL('../../oracle/kafka', import.meta.url))
const NULL = '\u2400'

export const java: ConformanceClient = {
  name: 'Java tools',
  lacks: {},
  remarks: {
    'consume in a group: two, a third joins, one crashes': 'with the VerifiableConsumer of kafka-tools',
  },
  requests: {
    versions: {
      ApiVersions: [5],
      Metadata: [13],
      Produce: [13],
      InitProducerId: [5],
      Fetch: [18],
      ListOffsets: [11],
      FindCoordinator: [6],
      JoinGroup: [9],
      SyncGroup: [5],
      Heartbeat: [4],
      LeaveGroup: [5],
      OffsetCommit: [9],
      OffsetFetch: [9],
      CreateTopics: [7],
      DeleteTopics: [6],
      DescribeConfigs: [4],
      DescribeCluster: [2],
      DescribeGroups: [6],
      DescribeTopicPartitions: [0],
      ConsumerGroupDescribe: [1],
      ListPartitionReassignments: [0],
    },
    connections: { produce: 2, read: 2, member: 3, admin: 2 },
  },

  async probe() {
    try {
      // The first run fetches the jars, which takes as long as the network does.
      const [line] = await runProgram(KAFKA, ['tool', 'console-producer', '--version'], { timeoutMs: 240_000 })
      return { version: `Apache Kafka ${line.split(' ')[0]}` }
    } catch (error) {
      // The first line is the command, the rest what it said.
      return { missing: String(error).split('\n').slice(1).join(' ').trim() }
    }
  },

  async produce(call, topic, records, how) {
    const properties: Record<string, string> = {
      'client.id': call.clientId,
      'enable.idempotence': String(how.idempotent === true),
    }
    if (how.giveUpAfterMs) properties['max.block.ms'] = String(how.giveUpAfterMs)
    const reader = { 'parse.key': 'true', 'parse.headers': 'true', 'null.marker': NULL }
    const input = records.map(({ headers, key, value }) => {
      const pairs = (headers ?? []).map(header => header.join(':')).join(',')
      return `${pairs || NULL}\t${key}\t${value ?? NULL}\n`
    })
    const args = ['--bootstrap-server', call.bootstrapServers, '--topic', topic]
    args.push('--compression-codec', how.codec ?? 'none')
    args.push(...options('--command-property', properties), ...options('--reader-property', reader))
    // It only logs that a record did not arrive.
    const failure = /Error when sending message/
    await runProgram(KAFKA, ['tool', 'console-producer', ...args], { input: input.join(''), failure })
  },

  openProducer(call, topic) {
    const args = ['--bootstrap-server', call.bootstrapServers, '--topic', topic]
    args.push(...options('--command-property', { 'client.id': call.clientId }))
    args.push(...options('--reader-property', { 'parse.key': 'true' }))
    const child = new Child(KAFKA, ['tool', 'console-producer', ...args])
    return {
      send: value => child.write(`k-${value}\t${value}\n`),
      failure: () => (child.status === undefined ? undefined : child.transcript()),
      async close() {
        child.endInput()
        await child.ended
      },
    }
  },

  async readPartition(call, topic, partition, offset, count) {
    return consoleConsumer(call, topic, count, ['--partition', String(partition), '--offset', String(offset)])
  },

  join: (call, options) => new JavaMember(call, options),

  async consumeAndCommit(call, group, topic, count) {
    return consoleConsumer(call, topic, count, ['--group', group, ...options('--command-property', memberSettings())])
  },

  async committedOffset(call, group, topic, partition) {
    const lines = await tool('consumer-groups', ['--describe', '--group', group, ...admin(call)])
    for (const line of lines) {
      const [, foundTopic, foundPartition, offset] = line.trim().split(/\s+/)
      if (foundTopic === topic && Number(foundPartition) === partition) return Number(offset)
    }
    throw new Error(`consumer-groups shows no offset:\n${lines.join('\n')}`)
  },

  async commitOffset(call, group, topic, partition, offset) {
    const where = ['--topic', `${topic}:${partition}`, '--to-offset', String(offset)]
    const lines = await tool('consumer-groups', [
      ...['--reset-offsets', '--execute', '--group', group, ...where],
      ...admin(call),
    ])
    // It refuses with a message, and ends with 0.
    const error = lines.find(line => line.startsWith('Error: '))
    if (error) throw new Error(error)
  },

  async createTopic(call, topic, partitions, configs) {
    const pairs = options('--config', configs)
    await tool('topics', ['--create', '--topic', topic, '--partitions', String(partitions), ...pairs, ...admin(call)])
  },

  async describeTopic(call, topic) {
    const lines = await tool('topics', ['--describe', '--topic', topic, ...admin(call)])
    const text = lines.join('\n')
    const leaders = Array.from(text.matchAll(/Partition: \d+\s+Leader: (\d+)/g), match => Number(match[1]))
    return { partitions: Number(/PartitionCount: (\d+)/.exec(text)?.[1]), leaders }
  },

  async deleteTopic(call, topic) {
    await tool('topics', ['--delete', '--topic', topic, ...admin(call)])
  },
}

function tool(name: string, args: string[]): Promise<string[]> {
  return runProgram(KAFKA, ['tool', name, ...args])
}

function options(flag: string, properties: Record<string, string>): string[] {
  return Object.entries(properties).flatMap(([name, value]) => [flag, `${name}=${value}`])
}

function memberSettings(): Record<string, string> {
  return {
    'auto.offset.reset': 'earliest',
    'session.timeout.ms': String(SESSION_TIMEOUT_MS),
    'heartbeat.interval.ms': String(HEARTBEAT_INTERVAL_MS),
  }
}

/** Some tools take a client id only from a file. */
function configFile(clientId: string, properties: Record<string, string> = {}): string {
  const file = scratchPath(`${clientId}.properties`)
  const lines = Object.entries({ 'client.id': clientId, ...properties }).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(file, lines.join(''))
  return file
}

function admin({ bootstrapServers, clientId }: Call): string[] {
  return ['--bootstrap-server', bootstrapServers, '--command-config', configFile(clientId)]
}

async function consoleConsumer(call: Call, topic: string, count: number, how: string[]): Promise<ConsumedRecord[]> {
  const shown = { 'print.partition': 'true', 'print.offset': 'true', 'print.key': 'true', 'null.literal': NULL }
  const lines = await tool('console-consumer', [
    ...['--bootstrap-server', call.bootstrapServers, '--topic', topic, '--max-messages', String(count), ...how],
    ...options('--command-property', { 'client.id': call.clientId }),
    ...options('--formatter-property', shown),
  ])
  return lines.map(line => {
    const [partition, offset, key, value] = line.split('\t')
    const orNull = (text: string) => (text === NULL ? null : text)
    return {
      partition: Number(partition.slice('Partition:'.length)),
      offset: Number(offset.slice('Offset:'.length)),
      key: orNull(key),
      value: orNull(value),
    }
  })
}

class JavaMember implements Member {
  readonly clientId: string
  readonly assignments: number[][] = []
  readonly records: ConsumedRecord[] = []
  readonly #uncommitted: ConsumedRecord[] = []
  readonly #child: Child

  constructor(call: Call, { group, topic, reset }: JoinOptions) {
    this.clientId = call.clientId
    const settings = configFile(call.clientId, { 'heartbeat.interval.ms': String(HEARTBEAT_INTERVAL_MS) })
    const args = ['--bootstrap-server', call.bootstrapServers, '--command-config', settings, '--topic', topic]
    args.push(
      '--group-id',
      group,
      '--reset-policy',
      reset,
      '--session-timeout',
      String(SESSION_TIMEOUT_MS),
      '--verbose',
    )
    this.#child = new Child(KAFKA, ['tool', 'verifiable-consumer', ...args], (line, stream) => {
      if (stream === 'stdout') this.#take(JSON.parse(line))
    })
  }

  #take(event: { name: string; partitions: { partition: number }[] } & ConsumedRecord): void {
    const { partition, offset, key, value } = event
    if (event.name === 'partitions_assigned') this.assignments.push(event.partitions.map(each => each.partition))
    else if (event.name === 'record_data') this.#uncommitted.push({ partition, offset, key, value })
    // It commits after each batch and does nothing else until that is done, so a step goes on only then.
    else if (event.name === 'offsets_committed') this.records.push(...this.#uncommitted.splice(0))
  }

  failure(): string | undefined {
    return this.#child.status === undefined ? undefined : this.#child.transcript()
  }

  crash(): void {
    this.#child.kill('SIGKILL')
  }

  async close(): Promise<void> {
    this.#child.kill('SIGTERM')
    await this.#child.ended
  }
}
