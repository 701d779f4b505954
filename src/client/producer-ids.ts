/**
 * Gets producer ids for the partitions of one producer. An id comes with epoch 0; each partition raises its epoch by itself
 * (KIP-360), and needs another id when its epochs are spent.
 */

import { initProducerId } from '../protocol/apis/init-producer-id.ts'
import type { KafkaClient } from './client.ts'
import type { ProduceQueue, ProducerIdentity } from './produce-queue.ts'
import { type Failure, failureOf, ok, type Result } from './result.ts'
import { type Task, until } from './task.ts'

/** The timeout of transactions that there never will be: what the Java client sends. */
const NO_TRANSACTION_TIMEOUT_MS = 0x7fffffff

export class ProducerIds {
  readonly #client: KafkaClient
  readonly #onAnswer: (failure: Failure | undefined) => void
  #identity: ProducerIdentity | undefined
  #asking = false

  /** @param onAnswer is called when an id has come, or with the reason why none will. */
  constructor(client: KafkaClient, onAnswer: (failure: Failure | undefined) => void) {
    this.#client = client
    this.#onAnswer = onAnswer
  }

  /** True when `queue` has an id, or gets one now; else one is asked for. */
  giveTo(queue: ProduceQueue): boolean {
    if (!queue.needsIdentity) return true
    if (this.#identity !== undefined && this.#identity.producerId !== queue.spentProducerId) {
      queue.adopt(this.#identity)
      return true
    }
    if (!this.#asking) {
      this.#asking = true
      this.#client.run(this.#client.retry(() => this.#ask())).whenSettled(result => {
        this.#asking = false
        if (result.ok) this.#identity = result.value
        this.#onAnswer(result.ok ? undefined : result)
      })
    }
    return false
  }

  *#ask(): Task<Result<ProducerIdentity>> {
    const body = { transactionalId: null, transactionTimeoutMs: NO_TRANSACTION_TIMEOUT_MS }
    const reply = yield* until(this.#client.request(initProducerId, body))
    if (!reply.ok) return reply
    const { errorCode, producerId, producerEpoch } = reply.value
    return failureOf(errorCode) ?? ok({ producerId, producerEpoch })
  }
}
