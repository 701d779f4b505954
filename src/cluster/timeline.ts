import type { MetadataImage, PartitionImage } from '../broker/metadata/image.ts'
import type { AppliedRecord } from '../broker/metadata/records.ts'

/**
 * What happened to a cluster, in order and in words: leaders and in-sync replicas that changed, brokers that came and went, and what was done
 * to them. It is told, and decides nothing.
 */

/** A leader changed: −1 is none. `unclean` says that it was elected without being in sync, so that records may be gone. */
export interface LeaderEvent {
  readonly type: 'leader'
  readonly at: number
  readonly topic: string
  readonly partition: number
  readonly before: number
  readonly leader: number
  readonly leaderEpoch: number
  readonly unclean: boolean
}

/** The in-sync replicas changed, or those that may lead though they are not in sync. */
export interface IsrEvent {
  readonly type: 'isr'
  readonly at: number
  readonly topic: string
  readonly partition: number
  readonly before: readonly number[]
  readonly isr: readonly number[]
  readonly elr: readonly number[]
}

/** A broker registered, was let in, fenced, began to shut down, or was taken out. */
export interface BrokerEvent {
  readonly type: 'broker'
  readonly at: number
  readonly broker: number
  readonly state: 'registered' | 'unfenced' | 'fenced' | 'shutting down' | 'unregistered'
}

/** Somebody did something to the cluster: killed a broker, cut a link. */
export interface ActionEvent {
  readonly type: 'action'
  readonly at: number
  readonly what: string
}

/** Records of a partition are lost though they were replicated and acknowledged: those from `from` up to, and without, `to`. */
export interface LostEvent {
  readonly type: 'lost'
  readonly at: number
  readonly topic: string
  readonly partition: number
  readonly from: number
  readonly to: number
  /** Who leads without them. */
  readonly leader: number
}

export type ClusterEvent = LeaderEvent | IsrEvent | BrokerEvent | ActionEvent | LostEvent

/** More are forgotten, the oldest first. */
const MOST_EVENTS = 100_000

export class Timeline {
  readonly #now: () => number
  #began: number
  readonly #partitions = new Map<string, PartitionImage>()
  readonly #brokers = new Map<number, BrokerEvent['state']>()
  readonly #listeners = new Set<(event: ClusterEvent) => void>()
  #events: ClusterEvent[] = []
  /** What is told was so before, and happens to nobody. */
  #isLoading = false

  constructor(now: () => number) {
    this.#now = now
    this.#began = now()
  }

  get events(): readonly ClusterEvent[] {
    return this.#events
  }

  /** Calls `listener` for each event from now on; the function returned ends that. */
  listen(listener: (event: ClusterEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Forgets everything: the cluster begins anew. Listeners stay. */
  beginAnew(): void {
    this.#began = this.#now()
    this.#events = []
    this.#partitions.clear()
    this.#brokers.clear()
  }

  /** Learns from `load`, in which the controller finds what was decided before, how the cluster is; nothing of that is an event. */
  loading<T>(load: () => T): T {
    this.#isLoading = true
    try {
      return load()
    } finally {
      this.#isLoading = false
    }
  }

  /** Notes what somebody did. */
  act(what: string): void {
    this.#note({ type: 'action', at: this.#now(), what })
  }

  /** Notes that records are gone. */
  lost(what: Omit<LostEvent, 'type' | 'at'>): void {
    this.#note({ type: 'lost', at: this.#now(), ...what })
  }

  /** Notes what a metadata record changed. */
  record(record: AppliedRecord, image: MetadataImage): void {
    if (record.type === 'partition') this.#changed(record.topicId, record, image)
    else if (record.type === 'registerBroker') this.#broker(record.brokerId, record.fenced ? 'registered' : 'unfenced')
    else if (record.type === 'unregisterBroker') this.#broker(record.brokerId, 'unregistered')
    else if (record.type === 'brokerChange') {
      const { brokerId, fenced, inControlledShutdown } = record
      this.#broker(brokerId, fenced ? 'fenced' : inControlledShutdown ? 'shutting down' : 'unfenced')
    }
  }

  #broker(broker: number, state: BrokerEvent['state']): void {
    if (this.#brokers.get(broker) === state) return
    this.#brokers.set(broker, state)
    this.#note({ type: 'broker', at: this.#now(), broker, state })
  }

  #changed(topicId: string, next: PartitionImage, image: MetadataImage): void {
    const key = `${topicId}-${next.partitionId}`
    const before = this.#partitions.get(key)
    this.#partitions.set(key, next)
    const topic = image.topicsById.get(topicId)?.name
    // How a partition begins is no change.
    if (before === undefined || topic === undefined) return
    const at = this.#now()
    const where = { at, topic, partition: next.partitionId }
    if (before.leader !== next.leader) {
      const { leader, leaderEpoch } = next
      const unclean = next.leaderRecoveryState !== 0
      this.#note({ type: 'leader', ...where, before: before.leader, leader, leaderEpoch, unclean })
    }
    if (!isSame(before.isr, next.isr) || !isSame(before.elr, next.elr)) {
      this.#note({ type: 'isr', ...where, before: before.isr, isr: next.isr, elr: next.elr })
    }
  }

  #note(event: ClusterEvent): void {
    if (this.#isLoading) return
    this.#events.push(event)
    if (this.#events.length > MOST_EVENTS) this.#events = this.#events.slice(MOST_EVENTS / 2)
    for (const listener of this.#listeners) listener(event)
  }

  /** One line for each event: seconds since the start, and what happened. */
  render(): string {
    return this.#events
      .map(event => `${((event.at - this.#began) / 1000).toFixed(3).padStart(9)}  ${describe(event)}\n`)
      .join('')
  }
}

function describe(event: ClusterEvent): string {
  switch (event.type) {
    case 'action':
      return event.what
    case 'lost': {
      const { topic, partition, from, to, leader } = event
      const offsets = to - from === 1 ? `offset ${from}` : `offsets ${from} to ${to - 1}`
      return `${topic}-${partition} lost ${offsets}: broker ${leader} leads without them`
    }
    case 'broker':
      return `broker ${event.broker} ${event.state}`
    case 'leader': {
      const { topic, partition, before, leader, leaderEpoch, unclean } = event
      const how = unclean ? ', not in sync: records may be lost' : ''
      return `${topic}-${partition} leader ${named(before)} → ${named(leader)} (epoch ${leaderEpoch}${how})`
    }
    case 'isr': {
      const { topic, partition, before, isr, elr } = event
      const eligible = elr.length === 0 ? '' : `, eligible ${elr}`
      return `${topic}-${partition} in sync [${before}] → [${isr}]${eligible}`
    }
  }
}

function named(leader: number): string {
  return leader < 0 ? 'none' : String(leader)
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id, at) => id === b[at])
}
