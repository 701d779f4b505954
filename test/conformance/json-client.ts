/**
 * The verbs of `client.ts` for clients that are libraries: each verb is one run of a small program written with the
 * client, in its own language, which speaks JSON lines (`driver-io.mjs` says how).
 */
import { Child, runProgram } from './child.ts'
import {
  type Acknowledgement,
  type Call,
  type ConformanceClient,
  type ConsumedRecord,
  type FailoverVerbs,
  HEARTBEAT_INTERVAL_MS,
  type Member,
  type MemberEvent,
  type OpenProducer,
  SESSION_TIMEOUT_MS,
  type SteadyProducer,
  type TopicDescription,
} from './client.ts'

type Verbs = Omit<
  ConformanceClient,
  'name' | 'lacks' | 'remarks' | 'endsWithTopic' | 'knownFault' | 'requests' | 'probe'
>

type DriverEvent =
  | ({ event: 'acknowledged' } & Acknowledgement)
  | ({ event: 'unacknowledged'; message: string } & Acknowledgement)
  | MemberEvent
  | { event: 'result'; value: unknown }
  | { event: 'error'; message: string }

/** The verbs, as run by `driver()`: a command and its first arguments, known once the client was probed. */
export function jsonVerbs(driver: () => string[]): Verbs & FailoverVerbs {
  const timing = { sessionTimeoutMs: SESSION_TIMEOUT_MS, heartbeatIntervalMs: HEARTBEAT_INTERVAL_MS }
  const start = (operation: string, call: Call, options: object): [string, string[]] => {
    const [command, ...args] = driver()
    return [command, [...args, JSON.stringify({ operation, ...timing, ...call, ...options })]]
  }
  const ask = async (operation: string, call: Call, options: object) => {
    const [command, args] = start(operation, call, options)
    const lines = await runProgram(command, args, { timeoutMs: 25_000 })
    const last = JSON.parse(lines[lines.length - 1]) as DriverEvent
    if (last.event !== 'result') throw new Error(`${command} gave no result:\n${lines.join('\n')}`)
    return last.value
  }
  const tell = async (operation: string, call: Call, options: object) => void (await ask(operation, call, options))
  return {
    produce: (call, topic, records, how) => tell('produce', call, { topic, records, ...how }),
    openProducer: (call, topic) => new JsonProcess(call, start('sendLines', call, { topic })),
    readPartition: async (call, topic, partition, offset, count) =>
      (await ask('readPartition', call, { topic, partition, offset, count })) as ConsumedRecord[],
    join: (call, options) => new JsonProcess(call, start('join', call, options)),
    keepProducing: (call, options) =>
      new JsonProcess(call, start('keepProducing', call, { ...options, idempotent: true })),
    joinAndTell: (call, options, tell) => new JsonProcess(call, start('join', call, options), tell),
    consumeAndCommit: async (call, group, topic, count) =>
      (await ask('consumeAndCommit', call, { group, topic, count })) as ConsumedRecord[],
    committedOffset: async (call, group, topic, partition) =>
      Number(await ask('committedOffset', call, { group, topic, partition })),
    commitOffset: (call, group, topic, partition, offset) =>
      tell('commitOffset', call, { group, topic, partition, offset }),
    createTopic: (call, topic, partitions, configs) => tell('createTopic', call, { topic, partitions, configs }),
    describeTopic: async (call, topic) => (await ask('describeTopic', call, { topic })) as TopicDescription,
    deleteTopic: (call, topic) => tell('deleteTopic', call, { topic }),
  }
}

function recordOf({ partition, offset, key, value }: ConsumedRecord): ConsumedRecord {
  return { partition, offset, key, value }
}

function isOfMember(event: DriverEvent): event is MemberEvent {
  return ['assigned', 'record', 'begins', 'anew'].includes(event.event)
}

/** A driver that goes on until its input ends: a member of a group, or a producer that sends the lines it reads, or its own. */
class JsonProcess implements Member, OpenProducer, SteadyProducer {
  readonly clientId: string
  readonly assignments: number[][] = []
  readonly records: ConsumedRecord[] = []
  readonly acknowledged: Acknowledgement[] = []
  readonly unacknowledged: (Acknowledgement & { message: string })[] = []
  readonly #tell: ((event: MemberEvent) => void) | undefined
  #error: string | undefined
  readonly #child: Child

  constructor(call: Call, [command, args]: [string, string[]], tell?: (event: MemberEvent) => void) {
    this.clientId = call.clientId
    this.#tell = tell
    this.#child = new Child(command, args, (line, stream) => {
      if (stream === 'stdout') this.#take(JSON.parse(line) as DriverEvent)
    })
  }

  #take(event: DriverEvent): void {
    if (isOfMember(event)) this.#tell?.(event)
    if (event.event === 'assigned') this.assignments.push(event.partitions)
    else if (event.event === 'record') this.records.push(recordOf(event))
    else if (event.event === 'acknowledged') this.acknowledged.push(event)
    else if (event.event === 'unacknowledged') this.unacknowledged.push(event)
    else if (event.event === 'error') this.#error = event.message
  }

  failure(): string | undefined {
    if (this.#child.status === undefined) return undefined
    return this.#error ?? `ended with ${this.#child.status}: ${this.#child.transcript()}`
  }

  send(value: string): void {
    this.#child.write(`${value}\n`)
  }

  crash(): void {
    this.#child.kill('SIGKILL')
  }

  async close(): Promise<void> {
    this.#child.endInput()
    await this.#child.ended
  }
}
