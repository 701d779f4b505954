/**
 * Putting a cluster in memory back: to its beginning, or to how it was at a snapshot. All brokers end as when they are killed, and start at once on
 * nothing, or on copies that share their bytes with the snapshot; so does the controller. It is what MemoryCluster does for one broker.
 */

import { CONSUMER_OFFSETS } from '../broker/internal-topics.ts'
import type { Hub } from '../cluster/index.ts'
import type { Losses } from '../cluster/losses.ts'
import type { Timeline } from '../cluster/timeline.ts'
import type { MemoryStorage } from '../storage/memory-storage.ts'
import type { BrokerSnapshot } from './broker-methods.ts'
import type { ClusterFaults } from './cluster-faults.ts'
import type { ClusterMethods } from './cluster-methods.ts'
import type { CheckedClusterOptions } from './cluster-options.ts'
import type { ControllerStorage } from './cluster-storage.ts'
import { makeTopics } from './cluster-topic.ts'
import { OttlaError } from './errors.ts'
import { WAIT_TIMEOUT_MS } from './fault-handles.ts'
import type { ClusterNode } from './node-methods.ts'
import type { SystemEnv } from './system-env.ts'
import type { Waits } from './waits.ts'

export interface ClusterResetsOptions {
  readonly env: SystemEnv
  readonly hub: Hub
  readonly nodes: ReadonlyMap<number, ClusterNode>
  readonly storage: ControllerStorage
  readonly timeline: Timeline
  readonly losses: Losses
  readonly faults: ClusterFaults
  readonly waits: Waits
  readonly topics: CheckedClusterOptions['topics']
}

export class ClusterResets {
  readonly #options: ClusterResetsOptions
  /** The controller's part of each snapshot; the brokers have theirs. */
  readonly #snapshots = new Map<number, MemoryStorage>()
  /** One after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: ClusterResetsOptions) {
    this.#options = options
  }

  /** Back to the beginning: what was declared is made anew, everything else is gone. */
  reset(): Promise<void> {
    const memory = this.#inMemory('reset')
    return this.#inTurn(async () => {
      await this.#replace(memory)
      await makeTopics(this.#options, this.#options.topics)
      await this.#admit()
    })
  }

  snapshot(): Promise<BrokerSnapshot> {
    const memory = this.#inMemory('snapshot')
    return this.#inTurn(async () => {
      const { hub, nodes } = this.#options
      const id = this.#snapshots.size + 1
      await this.#whilePaused(async () => {
        this.#snapshots.set(id, memory.fork())
        await Promise.all([...nodes.values()].map(node => node.snapshot(id)))
      })
      return { clusterId: hub.clusterId, id }
    })
  }

  /**
   * Back to how it was at a snapshot, which can be used again. All brokers run then, whatever was the matter with them.
   *
   * @param methods by which groups lose their members, whose connections are gone
   */
  restore({ clusterId, id }: BrokerSnapshot, methods: ClusterMethods): Promise<void> {
    const memory = this.#inMemory('restore')
    const { env, hub, timeline } = this.#options
    const snapshot = clusterId === hub.clusterId ? this.#snapshots.get(id) : undefined
    if (snapshot === undefined) throw new OttlaError('OTTLA_INVALID_OPTION', 'this is no snapshot of this cluster')
    return this.#inTurn(async () => {
      const { leaderEpoch } = await this.#replace(memory, { id, controller: snapshot })
      await env.settled(() => hub.raiseLeaderEpochs({ atLeast: leaderEpoch }))
      timeline.act(`restored to snapshot ${id}`)
      await this.#whenLoaded()
      await methods.evictMembers()
      await this.#admit()
    })
  }

  /** Clients come in again: none saw a cluster of which only some brokers were back. */
  async #admit(): Promise<void> {
    await Promise.all([...this.#options.nodes.values()].map(node => node.resume()))
  }

  /** Resolves when nothing is being put back. */
  async atRest(): Promise<void> {
    await this.#last
  }

  #inMemory(method: string): MemoryStorage {
    const { memory } = this.#options.storage
    if (memory !== undefined) return memory
    const hint = 'start it without dataDir, or copy the directory while no cluster uses it'
    const text = `${method} is for clusters in memory, and this one has a data directory`
    throw new OttlaError('OTTLA_WRONG_MODE', text, { hint })
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last.then(act)
    this.#last = done.catch(() => {})
    return done
  }

  /** Nothing changes meanwhile, in whichever threads the brokers run. */
  async #whilePaused(act: () => Promise<void>): Promise<void> {
    const { env, hub, nodes } = this.#options
    const running = hub.places.filter(({ state }) => state === 'running')
    const eachNode = (what: 'pause' | 'resume') => Promise.all(running.map(({ id }) => nodes.get(id)?.[what]()))
    env.event(() => {
      for (const place of running) place.pause()
    })
    await eachNode('pause')
    try {
      await act()
    } finally {
      env.event(() => {
        for (const place of running) place.resume()
      })
      await eachNode('resume')
    }
  }

  /** Ends everything, and starts it on empty storages, or on those of a snapshot. */
  async #replace(memory: MemoryStorage, snapshot?: { id: number; controller: MemoryStorage }) {
    const { env, hub, nodes, timeline, losses, faults } = this.#options
    env.event(() => {
      for (const place of hub.places) place.detach('killed')
    })
    faults.forget()
    await Promise.all([...nodes.values()].map(node => node.halt()))
    memory.become(snapshot?.controller)
    losses.forget()
    timeline.beginAnew()
    let floor = { leaderEpoch: 0, producerId: 0 }
    env.event(() => {
      floor = timeline.loading(() => hub.beginAnew())
    })
    await Promise.all([...nodes.values()].map(node => node.begin(snapshot?.id)))
    return floor
  }

  /** Groups that were there have been read by whoever coordinates them. */
  async #whenLoaded(): Promise<void> {
    const { hub, nodes, waits } = this.#options
    const missing = async () => {
      const led = hub.image.topicsByName.get(CONSUMER_OFFSETS)?.partitions.filter(({ leader }) => leader >= 0) ?? []
      const leaders = [...new Set(led.map(({ leader }) => leader))]
      const loaded = new Map(
        await Promise.all(
          leaders.map(async id => [id, new Set(await nodes.get(id)?.methods.loadedCoordinators())] as const),
        ),
      )
      return led.filter(({ leader, partitionId }) => !loaded.get(leader)?.has(partitionId)).length
    }
    await waits.for<true>({
      what: 'all groups to be loaded',
      timeoutMs: WAIT_TIMEOUT_MS,
      look: async () => (await missing()) === 0 || undefined,
      seen: async () => `${await missing()} partitions of groups that are not`,
    })
  }
}
