/**
 * The events of a cluster whose brokers have threads of their own, for whoever waits until something has come about there: those of this thread
 * and, while somebody listens, those of all others.
 */
import type { ClusterNode } from './node-methods.ts'
import type { SystemEnv } from './system-env.ts'
import type { Eventful } from './waits.ts'

/** A thread that has ended may be started again. */
const RETRY_MS = 100

export class NodeEvents implements Eventful {
  readonly #env: SystemEnv
  readonly #nodes: ReadonlyMap<number, ClusterNode>

  constructor(env: SystemEnv, nodes: ReadonlyMap<number, ClusterNode>) {
    this.#env = env
    this.#nodes = nodes
  }

  afterEvents(listener: () => void): () => void {
    const listening = { isOver: false }
    const stop = this.#env.afterEvents(listener)
    for (const node of this.#nodes.values()) void follow(node, listener, listening)
    return () => {
      listening.isOver = true
      stop()
    }
  }
}

async function follow({ methods }: ClusterNode, listener: () => void, listening: { isOver: boolean }): Promise<void> {
  for (let seen = 0; !listening.isOver; ) {
    try {
      seen = await methods.changed(seen)
    } catch {
      seen = 0
      await new Promise(resolve => setTimeout(resolve, RETRY_MS).unref())
    }
    if (!listening.isOver) listener()
  }
}
