/**
 * What was deleted stays deleted, and nothing else is. While a process lives no log of it begins before where it began; none begins behind
 * what was asked for, or with retention behind what is replicated; in the end no follower begins before its leader.
 *
 * DeleteRecords is answered once all replicas have followed that live, as far as the leader knows, as in Kafka: a broker that was fenced
 * meanwhile has not, or one of which the leader hears so late, and brings the records back when it is elected later. All others that come to lead begin no earlier than was answered, whether they were
 * started anew since or not: Kafka may forget a log start offset that is younger than a minute
 * (`log.flush.start.offset.checkpoint.interval.ms`), Ottla may not (docs/durability.md). A log that has lost records, as it may, may have
 * lost its start with them.
 */

import { isActive, type PartitionImage } from '../../../../src/broker/metadata/image.ts'
import type { Log } from '../../../../src/log/log.ts'
import { type Checker, type HistoryEvent, Violation } from '../../history.ts'
import type { ReplicaWatch } from '../replica-watch.ts'
import type { SimulatedCluster } from '../simulated-cluster.ts'
import type { CommittedLog } from './committed-log.ts'
import type { Replicas } from './replicas.ts'

const NAME = 'log starts'

export class LogStarts implements Checker {
  readonly name = NAME
  readonly #cluster: SimulatedCluster
  readonly #watch: ReplicaWatch
  readonly #replicas: Replicas
  /** Old segments of the topic go by themselves. */
  readonly #isRetained: (topic: string) => boolean
  /** By partition: the highest offset that somebody asked for. */
  readonly #asked = new Map<string, number>()
  /** By request that is under way: who was asked, and who has lived since then, by what the controller decided and that broker knows. */
  readonly #underWay = new Map<number, { asked: number; living: Set<number> }>()
  /** By partition and broker: where its log begins, or later. */
  readonly #deleted = new Map<string, number>()
  /** Where each log began when it was last looked at. */
  readonly #starts = new WeakMap<Log, number>()

  constructor(
    cluster: SimulatedCluster,
    watch: ReplicaWatch,
    replicas: Replicas,
    isRetained: (topic: string) => boolean,
  ) {
    this.#cluster = cluster
    this.#watch = watch
    this.#isRetained = isRetained
    this.#replicas = replicas
    cluster.listen(event => {
      if (event.type !== 'broker' || event.state === 'unfenced') return
      for (const { living } of this.#underWay.values()) living.delete(event.broker)
    })
  }

  event(event: HistoryEvent): void {
    if (event.type !== 'deletingRecords' && event.type !== 'recordsDeleted') return
    const { topic, partition, offset, request, broker } = event
    const name = `${topic}-${partition}`
    if (event.type === 'deletingRecords') {
      this.#asked.set(name, Math.max(this.#asked.get(name) ?? 0, offset))
      const brokers = [...this.#cluster.cluster.image.brokers.values()]
      const living = new Set(brokers.filter(({ fenced }) => !fenced).map(({ brokerId }) => brokerId))
      this.#underWay.set(request, { asked: broker, living })
      this.#dropWhomTheAskedTakesForDead()
      return
    }
    for (const id of this.#underWay.get(request)?.living ?? []) {
      const key = `${name} ${id}`
      this.#deleted.set(key, Math.max(this.#deleted.get(key) ?? 0, offset))
    }
    const log = this.#replicas.of(topic, partition)
    if (log !== undefined) this.#watch.lookAgain(log.key)
    this.#underWay.delete(request)
  }

  /** A leader that hears late waits for nobody who was fenced, for as long as it believes that. */
  #dropWhomTheAskedTakesForDead(): void {
    for (const { asked, living } of this.#underWay.values()) {
      // Without a leader that the client knows it asks nobody in particular.
      if (asked < 0 || !this.#cluster.isCurrent(asked)) continue
      const { brokers } = this.#cluster.cluster.broker(asked).image
      for (const id of living) if (!isActive(brokers.get(id))) living.delete(id)
    }
  }

  step(): void {
    if (!this.#cluster.isMade) return
    this.#dropWhomTheAskedTakesForDead()
    for (const key of this.#watch.changed.keys()) {
      const committed = this.#replicas.byKey(key)
      if (committed === undefined) continue
      const decided = this.#decided(committed)
      for (const { id } of this.#cluster.machines) {
        // Another replica may come in the place of one that has moved away.
        if (!decided?.replicas.includes(id)) this.#deleted.delete(`${committed.name} ${id}`)
        const replica = this.#replicaOf(committed, id)
        if (replica?.openedLog === undefined) continue
        const leads = decided?.leader === id && decided.leaderEpoch === replica.leaderEpoch
        this.#look(committed, replica.openedLog, id, leads)
      }
    }
  }

  #decided({ topicId, partition }: CommittedLog): PartitionImage | undefined {
    return this.#cluster.cluster.image.topicsById.get(topicId)?.partitions[partition]
  }

  #replicaOf({ topicId, partition }: CommittedLog, id: number) {
    if (!this.#cluster.isCurrent(id)) return undefined
    return this.#cluster.cluster.broker(id).replicas.find(topicId, partition)
  }

  #look(committed: CommittedLog, log: Log, id: number, leads: boolean): void {
    const { logStartOffset } = log
    const asked = this.#isRetained(committed.topic) ? log.highWatermark : (this.#asked.get(committed.name) ?? 0)
    const before = this.#starts.get(log) ?? 0
    const deleted = this.#deleted.get(`${committed.name} ${id}`) ?? 0
    this.#starts.set(log, logStartOffset)
    if (logStartOffset > asked) this.#fail(committed, id, `begins at ${logStartOffset}, and all below ${asked} may go`)
    if (committed.hasLost) return
    if (logStartOffset < before) this.#fail(committed, id, `began at ${before}, and begins at ${logStartOffset}`)
    if (leads && logStartOffset < deleted) {
      this.#fail(committed, id, `leads and begins at ${logStartOffset}, and all below ${deleted} was deleted`)
    }
  }

  /** Who begins before its leader, in words: a follower hears of it with its next fetch. Empty when nobody does. */
  late(): string {
    for (const committed of this.#replicas.logs) {
      const leader = this.#replicaOf(committed, this.#decided(committed)?.leader ?? -1)?.openedLog
      if (committed.hasLost || leader === undefined) continue
      for (const { id } of this.#cluster.machines) {
        const log = this.#replicaOf(committed, id)?.openedLog
        if (log === undefined || log.logStartOffset >= leader.logStartOffset) continue
        return `${committed.name} begins at ${log.logStartOffset} on broker ${id}, and its leader at ${leader.logStartOffset}`
      }
    }
    return ''
  }

  #fail({ name }: CommittedLog, id: number, message: string): never {
    throw new Violation(NAME, `${name} of broker ${id} ${message}`)
  }
}
