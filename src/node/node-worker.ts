/**
 * One broker of a cluster in the worker thread that is its own: a host as in any thread, whose links lead over the port to the hub. The other
 * end is worker-node.ts.
 */
import type { ControllerMessageKind, ControllerMessages, PeerMessageKind, PeerMessages } from '../broker/link.ts'
import type { Peer, Uplink } from '../cluster/place.ts'
import type { PartitionName, Replicated, WatchedPartition } from '../cluster/witness.ts'
import { MemoryMeter } from '../storage/memory-meter.ts'
import { diskBrokerStorage, memoryBrokerStorage } from './cluster-storage.ts'
import type { LogFunction } from './log.ts'
import { callNode } from './node-calls.ts'
import { NodeHost } from './node-host.ts'
import { LinkCalls, type LinkMessage, type NodeInput, type NodeMessage, withOwnBuffers } from './port-messages.ts'
import { SystemEnv } from './system-env.ts'

/** The thread around it. */
interface Outside {
  readonly log: LogFunction
  readonly onFatal: (error: Error) => void
  readonly post: (message: NodeMessage, transfer?: ArrayBuffer[]) => void
}

/** What the hub can ask and tell. */
export interface NodeWorker {
  call(method: string, args: unknown[]): Promise<unknown>
  receive(message: LinkMessage): void
}

export async function startNodeWorker(input: NodeInput, { log, onFatal, post }: Outside): Promise<NodeWorker> {
  const env = new SystemEnv({
    log,
    onFatal(error) {
      log('error', `internal error: ${error.stack ?? error.message}`, {})
      onFatal(error)
    },
  })
  let peer: Peer | undefined
  const process = () => peer as Peer
  const links = new LinkCalls(env, post, {
    metadata: (update: Parameters<Peer['metadata']>[0]) => process().metadata(update),
    receive: (kind: PeerMessageKind, request: PeerMessages[PeerMessageKind]['request']) =>
      process().receive(kind, request).map(withOwnBuffers),
  })
  const uplink: Uplink = {
    link: linkBy(links),
    attach(attached) {
      peer = attached
      post({ type: 'attach' })
    },
    detach(state) {
      links.forget()
      // Whoever kills it knows.
      if (state === 'stopped') post({ type: 'detach' })
    },
    // So does whoever pauses it.
    pause() {},
    resume() {},
  }
  const host = await open(input, { env, uplink, onFatal }).catch(error => {
    env.close()
    throw error
  })
  /** See `Witness`. */
  const witness: Record<string, (...args: never[]) => Promise<unknown>> = {
    replicated: (partitions: PartitionName[]) => env.settled(() => process().witness.replicated(partitions)),
    held: (partition: PartitionName, had: Replicated) => env.settled(() => process().witness.held(partition, had)),
    watch: async (id: number, partition: WatchedPartition) =>
      process().witness.watch(partition, value => post({ type: 'watched', id, value })),
  }
  return {
    async call(method, args) {
      if (Object.hasOwn(witness, method)) return witness[method](...(args as never[]))
      const value = await callNode(host, method, args)
      if (method === 'close') env.close()
      return value
    },
    receive: message => void env.event(() => links.receive(message)),
  }
}

/** The broker's end of its links: what the hub has for it is asked over the port. */
function linkBy(links: LinkCalls): Uplink['link'] {
  return {
    mayFail: true,
    send: <Kind extends ControllerMessageKind>(
      kind: Kind,
      request: ControllerMessages[Kind]['request'],
      timeoutMs?: number,
    ) => links.ask<ControllerMessages[Kind]['reply'] | undefined>('send', kind, request, timeoutMs),
    sendToPeer: <Kind extends PeerMessageKind>(
      to: number,
      kind: Kind,
      request: PeerMessages[Kind]['request'],
      timeoutMs: number,
    ) => links.ask<PeerMessages[Kind]['reply'] | undefined>('sendToPeer', to, kind, request, timeoutMs),
  }
}

function open(
  { id, rack, clusterId, options }: NodeInput,
  shared: { env: SystemEnv; uplink: Uplink; onFatal: (error: Error) => void },
): Promise<NodeHost> {
  const { env } = shared
  const { dataDir, limits } = options
  const storage =
    dataDir === undefined
      ? memoryBrokerStorage(env, new MemoryMeter(limits.memoryBytes))
      : diskBrokerStorage(env, { dataDir, brokerId: id, clusterId, openFiles: limits.openFiles })
  return NodeHost.open({ ...shared, id, rack, clusterId, options, storage })
}
