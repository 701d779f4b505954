/**
 * kcat, the command line client on librdkafka, as Debian packages it.
 *
 * Not a server of commands: every verb is one run of the program, and its JSON output (`-J`) is what it consumed.
 */
import { Child, runProgram } from '../child.ts'
import {
  type Call,
  type ConformanceClient,
  type ConsumedRecord,
  HEARTBEAT_INTERVAL_MS,
  type JoinOptions,
  type Member,
  type OpenProducer,
  SESSION_TIMEOUT_MS,
} from '../client.ts'

const NO_ADMIN = 'kcat has no admin commands'

export const kcat: ConformanceClient = {
  name: 'kcat',
  lacks: {
    'create a topic': NO_ADMIN,
    'delete a topic': NO_ADMIN,
    'error: delete a topic that is not there': NO_ADMIN,
    'error: commit as a stranger': NO_ADMIN,
    'read committed offsets': 'kcat has no command that shows the offsets of a group',
  },
  remarks: {
    'error: the broker restarts, empty, while it is used':
      'the producer is a new process for each record, because kcat waits for a block of input',
  },
  requests: {
    versions: {
      ApiVersions: [3],
      Metadata: [4],
      Produce: [7],
      InitProducerId: [4],
      Fetch: [11],
      ListOffsets: [2],
      FindCoordinator: [2],
      JoinGroup: [5],
      SyncGroup: [3],
      Heartbeat: [3],
      LeaveGroup: [1],
      OffsetCommit: [7],
      OffsetFetch: [7],
    },
    connections: { produce: 1, read: 1, member: 2, admin: 1 },
  },

  async probe() {
    const lines = await runProgram('kcat', ['-V']).catch(() => undefined)
    if (!lines) return { missing: 'kcat is not installed (Debian: apt-get install kcat)' }
    const [, version, librdkafka] = /Version (\S+) .*librdkafka (\S+)/.exec(lines.join(' ')) ?? []
    return { version: `${version}, librdkafka ${librdkafka}` }
  },

  async produce(call, topic, records, how) {
    const headers = (records[0].headers ?? []).flatMap(([name, value]) => ['-H', `${name}=${value}`])
    const settings = how.idempotent ? ['-X', 'enable.idempotence=true'] : []
    if (how.codec) settings.push('-z', how.codec)
    if (how.giveUpAfterMs) settings.push('-X', `topic.metadata.propagation.max.ms=${how.giveUpAfterMs}`)
    const input = records.map(record => `${record.key}\t${record.value ?? ''}\n`).join('')
    // -Z sends an empty value as null; -H gives every record of the run the same headers.
    await runProgram('kcat', ['-P', '-t', topic, '-K', '\t', '-Z', ...headers, ...settings, ...common(call)], { input })
  },

  openProducer: (call, topic) => new KcatProducer(call, topic),

  async readPartition(call, topic, partition, offset, count) {
    const where = ['-t', topic, '-p', String(partition), '-o', String(offset), '-c', String(count)]
    return (await runProgram('kcat', ['-C', '-J', '-q', ...where, ...common(call)])).map(parseRecord)
  },

  join: (call, options) => new KcatMember(call, options),

  async consumeAndCommit(call, group, topic, count) {
    const member = ['-G', group, '-J', '-q', '-c', String(count), ...memberSettings('earliest'), ...common(call), topic]
    return (await runProgram('kcat', member)).map(parseRecord)
  },

  async describeTopic(call, topic) {
    const lines = await runProgram('kcat', ['-L', '-J', '-t', topic, ...common(call)])
    const { topics } = JSON.parse(lines.join('')) as {
      topics: { topic: string; partitions: { partition: number; leader: number }[] }[]
    }
    const { partitions } = topics.find(each => each.topic === topic)!
    return { partitions: partitions.length, leaders: partitions.map(each => each.leader) }
  },

  createTopic: () => Promise.reject(new Error(NO_ADMIN)),
  deleteTopic: () => Promise.reject(new Error(NO_ADMIN)),
  commitOffset: () => Promise.reject(new Error(NO_ADMIN)),
  committedOffset: () => Promise.reject(new Error(NO_ADMIN)),
}

function common({ bootstrapServers, clientId }: Call): string[] {
  return ['-b', bootstrapServers, '-X', `client.id=${clientId}`]
}

function memberSettings(reset: string): string[] {
  const settings = [
    `session.timeout.ms=${SESSION_TIMEOUT_MS}`,
    `heartbeat.interval.ms=${HEARTBEAT_INTERVAL_MS}`,
    // librdkafka's word for `none`.
    `auto.offset.reset=${reset === 'none' ? 'error' : reset}`,
  ]
  return settings.flatMap(setting => ['-X', setting])
}

function parseRecord(line: string): ConsumedRecord {
  const { partition, offset, key, payload } = JSON.parse(line)
  return { partition, offset, key, value: payload }
}

/** `kcat -G`: records on standard output, rebalances on standard error. */
class KcatMember implements Member {
  readonly clientId: string
  readonly assignments: number[][] = []
  readonly records: ConsumedRecord[] = []
  readonly #child: Child

  constructor(call: Call, { group, topic, reset }: JoinOptions) {
    this.clientId = call.clientId
    // With -E it goes on after errors that may pass.
    const patience = reset === 'none' ? [] : ['-E']
    const args = ['-G', group, '-J', '-u', ...patience, ...memberSettings(reset), ...common(call), topic]
    this.#child = new Child('kcat', args, (line, stream) => {
      if (stream === 'stdout') this.records.push(parseRecord(line))
      const assigned = / rebalanced .*: assigned: (.*)$/.exec(line)
      if (assigned) this.assignments.push(Array.from(assigned[1].matchAll(/ \[(\d+)\]/g), match => Number(match[1])))
    })
  }

  failure(): string | undefined {
    return this.#child.status === undefined ? undefined : this.#child.transcript()
  }

  crash(): void {
    this.#child.kill('SIGKILL')
  }

  async close(): Promise<void> {
    this.#child.kill('SIGINT')
    await this.#child.ended
  }
}

/** Runs kcat once for each record, one after the other. */
class KcatProducer implements OpenProducer {
  readonly #call: Call
  readonly #topic: string
  #error: string | undefined
  #sent: Promise<unknown> = Promise.resolve()

  constructor(call: Call, topic: string) {
    this.#call = call
    this.#topic = topic
  }

  send(value: string): void {
    const args = ['-P', '-t', this.#topic, '-K', '\t', ...common(this.#call)]
    this.#sent = this.#sent
      .then(() => runProgram('kcat', args, { input: `k-${value}\t${value}\n` }))
      .catch(error => {
        this.#error ??= String(error)
      })
  }

  failure(): string | undefined {
    return this.#error
  }

  async close(): Promise<void> {
    await this.#sent
  }
}
