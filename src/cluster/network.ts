import { assert } from '../util/assert.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'

/**
 * The network between the nodes of a cluster: every pair of nodes has a link, with a way in each direction that can be cut, slow, or
 * deliver twice. It knows no messages: it carries calls. What is sent on one way arrives in order, as on a TCP connection;
 * what is lost is told to who sent it, as when a connection breaks, but not whether it had arrived. Its time is that of the world outside: moving the
 * brokers' clock on does not make a message late.
 */

export type NodeId = number

/** The controller's place in the network. */
export const CONTROLLER: NodeId = -1

/** How long it takes until a sender notices that nothing comes through: then it may try again. */
const NOTICE_MS = 500

/** One direction of a link. */
interface Way {
  cut: boolean
  delayMs: number
  doubled: boolean
  /** When the last message that is on its way arrives: none overtakes another. */
  lastDue: number
  /** Calls that were lost here, whose senders have not noticed yet. */
  readonly lost: Set<() => void>
}

interface Node {
  up: boolean
  /** Rises with each start: what was sent to the one before does not reach the next. */
  life: number
  paused: boolean
  /** What arrived while it stood still, in order. */
  readonly held: (() => void)[]
}

export class Network {
  readonly #env: Env
  readonly #nodes = new Map<NodeId, Node>()
  readonly #ways = new Map<string, Way>()
  /** Calls that wait for an answer: how each is forgotten. */
  readonly #calls = new Set<() => void>()

  constructor(env: Env) {
    this.#env = env
  }

  /** A node that is not up yet: who calls it hears that nobody is there. */
  add(id: NodeId): void {
    if (!this.#nodes.has(id)) this.#nodes.set(id, { up: false, life: 0, paused: false, held: [] })
  }

  /** All nodes are down and all links whole: whatever is on its way is lost. */
  beginAnew(): void {
    for (const id of this.#nodes.keys()) this.stop(id)
    for (const forget of [...this.#calls]) forget()
    this.#ways.clear()
  }

  /** A node comes up. */
  start(id: NodeId): void {
    this.add(id)
    const node = this.#node(id)
    node.up = true
    node.life++
    node.paused = false
  }

  /** A node is gone: what is on its way to it or from it is lost. */
  stop(id: NodeId): void {
    const node = this.#nodes.get(id)
    if (node === undefined) return
    node.up = false
    node.life++
    node.held.length = 0
  }

  /** A node stands still: what arrives waits. */
  pause(id: NodeId): void {
    this.#node(id).paused = true
  }

  resume(id: NodeId): void {
    const node = this.#node(id)
    node.paused = false
    for (const deliver of node.held.splice(0)) this.#env.turns.enqueue(deliver)
  }

  cut(from: NodeId, to: NodeId): void {
    this.#way(from, to).cut = true
  }

  slow(from: NodeId, to: NodeId, delayMs: number): void {
    assert(delayMs >= 0, `a delay cannot be ${delayMs}`)
    this.#way(from, to).delayMs = delayMs
  }

  /** Every message comes twice; the second answer is passed over. */
  double(from: NodeId, to: NodeId): void {
    this.#way(from, to).doubled = true
  }

  /** Ends what is wrong with a way. Who lost something there is told at once. */
  heal(from: NodeId, to: NodeId): void {
    const way = this.#way(from, to)
    way.cut = false
    way.delayMs = 0
    way.doubled = false
    for (const tell of [...way.lost]) tell()
  }

  isCut(from: NodeId, to: NodeId): boolean {
    return this.#way(from, to).cut
  }

  /**
   * Has `work` done at `to`, and settles with what comes of it; with undefined when the call or its answer is lost, or after
   * `timeoutMs`. Who knows how to wait longer than any fault gives no timeout.
   */
  call<T>(from: NodeId, to: NodeId, timeoutMs: number, work: () => Later<T>): Later<T | undefined> {
    const { turns } = this.#env
    const result = new Later<T | undefined>(turns)
    const timer = this.#env.timer(timeoutMs, () => fail(), 'client')
    const forget = () => {
      timer.cancel()
      this.#calls.delete(forget)
      this.#way(from, to).lost.delete(fail)
      this.#way(to, from).lost.delete(fail)
    }
    this.#calls.add(forget)
    const fail = () => {
      if (result.settle(undefined)) forget()
    }
    const answer = (value: T) =>
      this.#transmit(
        to,
        from,
        () => {
          if (result.settle(value)) forget()
        },
        fail,
      )
    this.#transmit(from, to, () => work().whenSettled(answer), fail)
    return result
  }

  #transmit(from: NodeId, to: NodeId, deliver: () => void, fail: () => void): void {
    const sender = this.#node(from)
    const receiver = this.#node(to)
    // Nobody listens: that is noticed at once. Who is gone himself has nobody to tell.
    if (!sender.up || !receiver.up) return this.#env.turns.enqueue(fail)
    const way = this.#way(from, to)
    if (way.cut) return this.#lose(way, fail)
    const lives = [sender.life, receiver.life]
    const arrive = () => {
      if (sender.life !== lives[0] || receiver.life !== lives[1]) fail()
      else if (way.cut) this.#lose(way, fail)
      else if (receiver.paused) receiver.held.push(deliver)
      else deliver()
    }
    const now = this.#env.now()
    const due = Math.max(now + way.delayMs, way.lastDue)
    for (let times = way.doubled ? 2 : 1; times > 0; times--) {
      if (due <= now) this.#env.turns.enqueue(arrive)
      else {
        way.lastDue = due
        this.#env.timer(due - now, arrive, 'client')
      }
    }
  }

  #lose(way: Way, fail: () => void): void {
    if (way.lost.has(fail)) return
    way.lost.add(fail)
    this.#env.timer(NOTICE_MS, fail, 'client')
  }

  #node(id: NodeId): Node {
    const node = this.#nodes.get(id)
    assert(node !== undefined, `there is no node ${id}`)
    return node
  }

  #way(from: NodeId, to: NodeId): Way {
    const key = `${from}>${to}`
    let way = this.#ways.get(key)
    if (way === undefined) {
      way = { cut: false, delayMs: 0, doubled: false, lastDue: 0, lost: new Set() }
      this.#ways.set(key, way)
    }
    return way
  }
}
