import type {
  ControllerMessageKind,
  ControllerMessages,
  Link,
  MetadataUpdate,
  PeerMessageKind,
  PeerMessages,
} from '../broker/link.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Controller } from './controller.ts'
import { CONTROLLER, type Network } from './network.ts'
import type { Witness } from './witness.ts'

/**
 * The place of one broker in the network of its cluster: where its messages go out, and come in for whichever process runs there. It knows a
 * process by a few calls only, so that this may run in another thread than the network.
 */

export type BrokerState = 'running' | 'paused' | 'stopped' | 'killed'

/** A broker as the rest of its cluster reaches it. */
export interface Peer {
  /** See `LinkedBroker.metadata`. */
  metadata(update: MetadataUpdate): Later<number>
  receive<Kind extends PeerMessageKind>(
    kind: Kind,
    request: PeerMessages[Kind]['request'],
  ): Later<PeerMessages[Kind]['reply']>
  readonly witness: Witness
}

/** The end of the network that a broker has. */
export interface Uplink {
  readonly link: Link
  /** A process is there: it is told of the cluster from now on, and messages reach it. */
  attach(peer: Peer): void
  /** It is gone: nothing that is on its way to it or from it arrives. */
  detach(state: 'stopped' | 'killed'): void
  /** It stands still: what arrives waits. */
  pause(): void
  resume(): void
}

/** How long an answer of the controller is waited for. */
const CONTROLLER_TIMEOUT_MS = 30_000

export interface PlaceOptions {
  readonly env: Env
  readonly network: Network
  /** The controller that there is; another after the cluster began anew. */
  readonly controller: () => Controller
  /** Of all brokers. */
  readonly places: ReadonlyMap<number, Place>
  /** See `Link.mayFail`. */
  readonly mayFail: boolean
}

export class Place implements Uplink {
  readonly id: number
  readonly link: Link
  readonly #options: PlaceOptions
  #state: BrokerState = 'stopped'
  #peer: Peer | undefined
  #brokerEpoch = -1

  constructor(id: number, options: PlaceOptions) {
    this.id = id
    this.#options = options
    this.link = this.#newLink()
    options.network.add(id)
  }

  get state(): BrokerState {
    return this.#state
  }

  /** True while a process runs, paused or not. */
  get isUp(): boolean {
    return this.#state === 'running' || this.#state === 'paused'
  }

  /** The process, or the last that there was. */
  get peer(): Peer | undefined {
    return this.#peer
  }

  /** The epoch under which the process was told that it is registered, −1 before. */
  get brokerEpoch(): number {
    return this.#brokerEpoch
  }

  attach(peer: Peer): void {
    const { network, controller } = this.#options
    this.#state = 'running'
    this.#peer = peer
    this.#brokerEpoch = -1
    network.start(this.id)
    controller().subscribe(this.id, update =>
      network.call(CONTROLLER, this.id, CONTROLLER_TIMEOUT_MS, () => peer.metadata(update)),
    )
  }

  detach(state: 'stopped' | 'killed'): void {
    if (!this.isUp) return
    this.#state = state
    this.#options.controller().unsubscribe(this.id)
    this.#options.network.stop(this.id)
  }

  pause(): void {
    if (this.#state !== 'running') return
    this.#state = 'paused'
    this.#options.network.pause(this.id)
  }

  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'running'
    this.#options.network.resume(this.id)
  }

  #newLink(): Link {
    const { id } = this
    const { env, network, controller, places, mayFail } = this.#options
    return {
      mayFail,
      send: <Kind extends ControllerMessageKind>(
        kind: Kind,
        request: ControllerMessages[Kind]['request'],
        timeoutMs = CONTROLLER_TIMEOUT_MS,
      ) => {
        const reply = network.call(id, CONTROLLER, timeoutMs, () => controller().handle(kind, request))
        if (kind === 'registerBroker') this.#noteEpoch(reply as Later<{ brokerEpoch: number } | undefined>)
        return reply
      },
      sendToPeer: <Kind extends PeerMessageKind>(
        to: number,
        kind: Kind,
        request: PeerMessages[Kind]['request'],
        timeoutMs: number,
      ) => {
        const other = places.get(to)
        if (other === undefined) return Later.of<PeerMessages[Kind]['reply'] | undefined>(env.turns, undefined)
        return network.call(id, to, timeoutMs, () => (other.peer as Peer).receive(kind, request))
      },
    }
  }

  #noteEpoch(reply: Later<{ brokerEpoch: number } | undefined>): void {
    const peer = this.#peer
    reply.whenSettled(registered => {
      if (registered !== undefined && this.#peer === peer) this.#brokerEpoch = registered.brokerEpoch
    })
  }
}
