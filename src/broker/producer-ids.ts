import type { ErrorName } from '../protocol/errors.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'

/**
 * Hands out producer ids, from blocks that the controller gives to this broker alone (`RPCProducerIdManager`): no two
 * producers of a cluster ever get the same.
 */
export class ProducerIds {
  readonly #env: Env
  readonly #allocate: () => Later<ProducerIdBlock | undefined>
  #next = 0
  #end = 0
  #waiting: Later<ProducerIdOrError>[] = []

  constructor(env: Env, allocate: () => Later<ProducerIdBlock | undefined>) {
    this.#env = env
    this.#allocate = allocate
  }

  next(): Later<ProducerIdOrError> {
    if (this.#next < this.#end) return Later.of(this.#env.turns, this.#next++)
    const later = new Later<ProducerIdOrError>(this.#env.turns)
    this.#waiting.push(later)
    if (this.#waiting.length === 1) this.#refill()
    return later
  }

  #refill(): void {
    this.#allocate().whenSettled(block => {
      const { error, start, length } = block ?? NO_BLOCK
      const waiting = this.#waiting
      this.#waiting = []
      if (error === 'NONE') {
        this.#next = start
        this.#end = start + length
      }
      for (const [index, later] of waiting.entries()) {
        if (error !== 'NONE') later.settle(NO_BLOCK.error)
        else if (this.#next < this.#end) later.settle(this.#next++)
        else {
          // More producers than the block has ids: the rest asks for another block.
          this.#waiting = waiting.slice(index)
          return this.#refill()
        }
      }
    })
  }
}

/** What the controller answers. */
interface ProducerIdBlock {
  readonly error: ErrorName
  readonly start: number
  readonly length: number
}

/**
 * The controller could not be asked, or gives none now, as before this broker has registered: clients try again. Whatever the
 * reason, they are told this alone.
 */
const NO_BLOCK: ProducerIdBlock = { error: 'COORDINATOR_LOAD_IN_PROGRESS', start: -1, length: 0 }

export type ProducerIdOrError = number | ErrorName
