/**
 * What goes over the port between a broker of a cluster in a worker thread and the hub, beside calls (worker-messages.ts): the messages
 * of its links. Questions and answers go both ways; the caller gets a `Later`, as from a link within one thread.
 */
import type { ReplicaFetchReply } from '../broker/link.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { CheckedClusterOptions } from './cluster-options.ts'

/** What a worker is started with that runs one broker of a cluster. */
export interface NodeInput {
  type: 'node'
  id: number
  rack: string | undefined
  clusterId: string
  options: CheckedClusterOptions
}

/** In both directions. */
export type LinkMessage =
  | { type: 'ask'; id: number; what: string; args: unknown[] }
  | { type: 'answer'; id: number; value: unknown }

/** From the worker also: its process came up, or ended in good order; and what an onlooker waits for. */
export type NodeMessage =
  | LinkMessage
  | { type: 'attach' }
  | { type: 'detach' }
  | { type: 'watched'; id: number; value: number }

/** What is asked of this side. */
type Answers = Record<string, (...args: never[]) => Later<unknown>>

export class LinkCalls {
  readonly #env: Env
  readonly #post: (message: LinkMessage, transfer: ArrayBuffer[]) => void
  readonly #answers: Answers
  readonly #asked = new Map<number, Later<unknown>>()
  #nextId = 1

  constructor(env: Env, post: (message: LinkMessage, transfer: ArrayBuffer[]) => void, answers: Answers) {
    this.#env = env
    this.#post = post
    this.#answers = answers
  }

  /** Asks the other side. What it answers after {@link forget} is passed over. */
  ask<T>(what: string, ...args: unknown[]): Later<T> {
    const answer = new Later<T>(this.#env.turns)
    const id = this.#nextId++
    this.#asked.set(id, answer as Later<unknown>)
    this.#post({ type: 'ask', id, what, args }, [])
    return answer
  }

  /** Takes what the other side posted; within an event. */
  receive(message: LinkMessage): void {
    const { id } = message
    if (message.type === 'answer') {
      this.#asked.get(id)?.settle(message.value)
      this.#asked.delete(id)
      return
    }
    const answer = this.#answers[message.what] as (...args: unknown[]) => Later<unknown>
    answer(...message.args).whenSettled(value => this.#post({ type: 'answer', id, value }, buffersOf(value)))
  }

  /** Whoever was asked is gone: nothing settles. */
  forget(): void {
    this.#asked.clear()
  }
}

/** Records as a message can carry them: in an array of their own, copied once, which is handed on from thread to thread after that. */
export function withOwnBuffers(reply: ReplicaFetchReply): ReplicaFetchReply {
  const partitions = reply.partitions.map(data => {
    return data.records.length === 0 ? data : { ...data, records: [copyOf(data.records)] }
  })
  return { ...reply, partitions }
}

/** In a slab of its own, which is not filled with zeros before. */
function copyOf(parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const bytes = new Uint8Array(Buffer.allocUnsafeSlow(length).buffer)
  let at = 0
  for (const part of parts) {
    bytes.set(part, at)
    at += part.length
  }
  return bytes
}

/** What an answer carries that {@link withOwnBuffers} has made. */
function buffersOf(value: unknown): ArrayBuffer[] {
  const { partitions } = (value ?? {}) as Partial<ReplicaFetchReply>
  if (!Array.isArray(partitions)) return []
  return partitions.flatMap(({ records = [] }) => records.map(({ buffer }: Uint8Array) => buffer as ArrayBuffer))
}
