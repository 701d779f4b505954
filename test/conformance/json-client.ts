/**
 * The verbs of `client.ts` for clients written in JavaScript: each is one run of the client's driver program, which
 * speaks JSON lines (see `driver-io.mjs`).
 */
import { Child, runProgram } from './child.ts'
import {
  type Call,
  type ConformanceClient,
  type ConsumedRecord,
  HEARTBEAT_INTERVAL_MS,
  type JoinOptions,
  type Member,
  SESSION_TIMEOUT_MS,
} from './client.ts'

type Verbs = Omit<ConformanceClient, 'name' | 'lacks' | 'remarks' | 'requests' | 'probe'>

type DriverEvent =
  | { event: 'assigned'; partitions: number[] }
  | ({ event: 'record' } & ConsumedRecord)
  | { event: 'result'; value: unknown }
  | { event: 'error'; message: string }

/** The verbs, as run by `node driver`. */
export function jsonVerbs(node: string, driver: string): Verbs {
  const timing = { sessionTimeoutMs: SESSION_TIMEOUT_MS, heartbeatIntervalMs: HEARTBEAT_INTERVAL_MS }
  const ask = async (operation: string, options: object) => {
    const lines = await runProgram(node, [driver, JSON.stringify({ operation, ...timing, ...options })])
    const last = JSON.parse(lines[lines.length - 1]) as DriverEvent
    if (last.event !== 'result') throw new Error(`${driver} gave no result:\n${lines.join('\n')}`)
    return last.value
  }
  return {
    produce: async (call, topic, records, how) => void (await ask('produce', { ...call, topic, records, ...how })),
    readPartition: async (call, topic, partition, offset, count) =>
      (await ask('readPartition', { ...call, topic, partition, offset, count })) as ConsumedRecord[],
    join: (call, options) => new JsonMember(node, driver, call, { operation: 'join', ...timing, ...call, ...options }),
    consumeAndCommit: async (call, group, topic, count) =>
      (await ask('consumeAndCommit', { ...call, group, topic, count })) as ConsumedRecord[],
    committedOffset: async (call, group, topic, partition) =>
      Number(await ask('committedOffset', { ...call, group, topic, partition })),
    createTopic: async (call, topic, partitions, configs) =>
      void (await ask('createTopic', { ...call, topic, partitions, configs })),
    describeTopic: async (call, topic) =>
      (await ask('describeTopic', { ...call, topic })) as { partitions: number; leaders: number[] },
    deleteTopic: async (call, topic) => void (await ask('deleteTopic', { ...call, topic })),
  }
}

function recordOf({ partition, offset, key, value }: ConsumedRecord): ConsumedRecord {
  return { partition, offset, key, value }
}

class JsonMember implements Member {
  readonly clientId: string
  readonly assignments: number[][] = []
  readonly records: ConsumedRecord[] = []
  #error: string | undefined
  readonly #child: Child

  constructor(node: string, driver: string, call: Call, request: JoinOptions & { operation: 'join' }) {
    this.clientId = call.clientId
    this.#child = new Child(node, [driver, JSON.stringify(request)], (line, stream) => {
      if (stream === 'stdout') this.#take(JSON.parse(line) as DriverEvent)
    })
  }

  #take(event: DriverEvent): void {
    if (event.event === 'assigned') this.assignments.push(event.partitions)
    else if (event.event === 'record') this.records.push(recordOf(event))
    else if (event.event === 'error') this.#error = event.message
  }

  failure(): string | undefined {
    if (this.#child.status === undefined) return undefined
    return this.#error ?? `ended with ${this.#child.status}: ${this.#child.transcript()}`
  }

  crash(): void {
    this.#child.kill('SIGKILL')
  }

  async close(): Promise<void> {
    this.#child.write('leave\n')
    await this.#child.ended
  }
}
