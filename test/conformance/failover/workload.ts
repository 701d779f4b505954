/**
 * One client in the failover run: a topic of its own, a producer that goes on, and a group of two that reads. It remembers all that they told.
 */
import { waitUntil, within } from '../child.ts'
import type { FailoverClient, Member, SteadyProducer } from '../client.ts'
import type { Beginning, Reading, StoredPartitions } from './checks.ts'

/** A broker may be away for some seconds on a loaded machine, and its groups are to stay. */
const SESSION_TIMEOUT_MS = 6000
const CLOSE_MS = 60_000
const CATCH_UP_MS = 60_000

export interface WorkloadOptions {
  client: FailoverClient
  bootstrapServers: string
  topic: string
  partitions: number
  recordsPerSecond: number
  /** False for one that only produces. */
  reads?: boolean
}

export class Workload {
  readonly client: FailoverClient
  readonly topic: string
  readonly group: string
  readonly partitions: number
  readonly readings: Reading[] = []
  /** Of clients that tell where they begin. */
  readonly beginnings: Beginning[] = []
  readonly producer: SteadyProducer
  readonly #members: Member[]
  #hasStopped = false

  constructor({ client, bootstrapServers, topic, partitions, recordsPerSecond, reads = true }: WorkloadOptions) {
    this.client = client
    this.topic = topic
    this.group = `${topic}-group`
    this.partitions = partitions
    const call = (name: string) => ({ bootstrapServers, clientId: `${topic}-${name}` })
    this.producer = client.keepProducing(call('producer'), { topic, partitions, recordsPerSecond })
    this.#members = (reads ? ['one', 'two'] : []).map(name => {
      const options = {
        group: this.group,
        topic,
        reset: 'earliest',
        sessionTimeoutMs: SESSION_TIMEOUT_MS,
        patient: true,
      } as const
      let consumers = 1
      let assignment = 0
      let places = new Map<number, number>()
      return client.joinAndTell(call(name), options, event => {
        const member = consumers === 1 ? name : `${name}, begun ${consumers} times`
        if (event.event === 'assigned') assignment++
        else if (event.event === 'anew') {
          consumers++
          places = new Map()
        } else if (event.event === 'begins') {
          for (const place of event.places) {
            this.beginnings.push({ member, ...place, was: places.get(place.partition) })
          }
        } else {
          const { partition, offset, value } = event
          places.set(partition, offset + 1)
          this.readings.push({ member, assignment, partition, offset, value: value ?? '' })
        }
      })
    })
  }

  /** Resolves once records go in and come out. */
  async running(): Promise<void> {
    await waitUntil(
      () => {
        const goes = this.producer.acknowledged.length > 0 && (this.#members.length === 0 || this.readings.length > 0)
        return goes || this.#failure() !== undefined
      },
      () => `${this.topic} has ${this.producer.acknowledged.length} records, and its group ${this.readings.length}`,
      CATCH_UP_MS,
    )
    this.failIfEnded()
  }

  #failure(): string | undefined {
    const all = this.#hasStopped ? this.#members : [this.producer, ...this.#members]
    return all.map(each => each.failure()).find(failure => failure !== undefined)
  }

  failIfEnded(): void {
    const failure = this.#failure()
    if (failure !== undefined) throw new Error(`${this.topic}: ended by itself: ${failure}`)
  }

  /** Ends the producer, when all that it sent has an answer. */
  async stopProducing(): Promise<void> {
    this.#hasStopped = true
    await within(CLOSE_MS, `${this.topic}: the producer to end`, this.producer.close())
  }

  /** Waits until the group read everything, and ends it. */
  async finishReading(stored: StoredPartitions): Promise<void> {
    const places = [...stored].flatMap(([partition, records]) => records.map(({ offset }) => `${partition}@${offset}`))
    const missing = () => {
      const read = new Set(this.readings.map(({ partition, offset }) => `${partition}@${offset}`))
      return places.filter(place => !read.has(place))
    }
    await waitUntil(
      () => {
        this.failIfEnded()
        return missing().length === 0
      },
      () =>
        `${this.topic}: its group did not read ${missing().length} of ${places.length} records: ${missing().slice(0, 5)}`,
      CATCH_UP_MS,
    )
    await within(CLOSE_MS, `${this.topic}: the group to end`, Promise.all(this.#members.map(each => each.close())))
  }

  /** One line for the log of the run. */
  summary(): string {
    const { acknowledged, unacknowledged } = this.producer
    const assignments = this.#members.reduce((sum, each) => sum + each.assignments.length, 0)
    const gaveUp = unacknowledged.length === 0 ? '' : ` (${unacknowledged[0].message})`
    return `${this.client.name}: ${acknowledged.length} acknowledged, ${unacknowledged.length} given up${gaveUp}, ${this.readings.length} read, ${assignments} assignments`
  }
}
