import { type ErrorName, KafkaError } from '../protocol/errors.ts'
import type { Env } from '../util/env.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import { errorOfAppend } from './append-errors.ts'
import { Decision } from './decision.ts'
import { KeyedTimers } from './keyed-timers.ts'
import type { CoordinatorLog, CoordinatorRecord } from './ports.ts'

/**
 * Decide → append → apply → reply, for the state machines of one kind of coordinator, one per partition of its topic.
 * A request is a decision on a machine; its records are appended as one batch, applied (the only place where hard
 * state changes, also used to load), and the reply leaves when the high watermark has passed them; a decision
 * without records waits for those before it. Knows no groups and no transactions. Follows `CoordinatorRuntime`.
 */

/** A state machine; everything that `apply` does not do is soft state and is gone when the partition moves. */
export interface Machine {
  /** Applies one record of the log, live or while loading. */
  apply(record: CoordinatorRecord, offset: number): void
  /** The whole log has been applied: build what is soft, set timers. */
  loaded(decision: Decision): void
  /** The partition is given up: parked replies that are to say more than `error` are answered now. */
  unloaded?(error: ErrorName): void
}

export type Timers = KeyedTimers<Decision>

/** Makes the answer that carries an error. */
export type Refuse<Reply> = (error: ErrorName) => Reply

export interface RuntimeOptions<M extends Machine> {
  env: Env
  /** Makes a fresh machine for a partition. */
  create: (partition: number, timers: Timers) => M
  /** How long records may wait to be replicated before the reply says COORDINATOR_NOT_AVAILABLE. */
  commitTimeoutMs: () => number
}

/** Is told that a decision failed, and whether its records are in the log nevertheless. */
type Refused = (error: ErrorName, appended: boolean) => void

/** Something that waits until the high watermark is at `offset`. */
interface Waiting {
  offset: number
  timer: Timer
  committed: () => void
  /** The partition is gone: only the reply is settled. */
  dropped: (error: ErrorName) => void
}

/** One partition that is led here. */
interface Shard<M> {
  machine: M
  log: CoordinatorLog
  timers: Timers
  unsubscribe: () => void
  /** The offset behind everything that was decided or loaded. */
  written: number
  /** In the order of their offsets. */
  waiting: Waiting[]
  /** Replies that the machine holds back until something happens, and how each is refused. */
  parked: Map<Later<never>, Refuse<never>>
  releasing: boolean
}

export class CoordinatorRuntime<M extends Machine> {
  readonly #env: Env
  readonly #create: RuntimeOptions<M>['create']
  readonly #commitTimeoutMs: () => number
  readonly #shards = new Map<number, Shard<M>>()
  #closed = false

  constructor(options: RuntimeOptions<M>) {
    this.#env = options.env
    this.#create = options.create
    this.#commitTimeoutMs = options.commitTimeoutMs
  }

  /** The partitions that are loaded here, in no order. */
  get partitions(): number[] {
    return [...this.#shards.keys()]
  }

  /** How many replies are held back or wait for the high watermark, over all partitions. */
  get waiting(): number {
    let count = 0
    for (const shard of this.#shards.values()) count += shard.parked.size + shard.waiting.length
    return count
  }

  /** The machine of a partition, for tests and metrics; undefined when it is not loaded here. */
  machine(partition: number): M | undefined {
    return this.#shards.get(partition)?.machine
  }

  /** Loads a partition that this broker has become leader of. Loading it again starts afresh. */
  becomeLeader(partition: number, log: CoordinatorLog): void {
    if (this.#closed) return
    this.resign(partition)
    const timers: Timers = new KeyedTimers(this.#env, decide => {
      if (this.#shards.get(partition) === shard) this.#run(shard, decide)
    })
    const machine = this.#create(partition, timers)
    let written = 0
    log.replay((record, offset) => {
      machine.apply(record, offset)
      written = offset + 1
    })
    const unsubscribe = log.onHighWatermark(() => this.#releaseSoon(shard))
    const shard: Shard<M> = {
      machine,
      log,
      timers,
      unsubscribe,
      written,
      waiting: [],
      parked: new Map(),
      releasing: false,
    }
    this.#shards.set(partition, shard)
    this.#run(shard, decision => machine.loaded(decision))
  }

  /** Gives a partition up: whatever waits gets `error`, the state is dropped. */
  resign(partition: number, error: ErrorName = 'NOT_COORDINATOR'): void {
    const shard = this.#shards.get(partition)
    if (shard === undefined) return
    this.#shards.delete(partition)
    shard.unsubscribe()
    shard.timers.cancelAll()
    for (const waiting of shard.waiting.splice(0)) {
      waiting.timer.cancel()
      waiting.dropped(error)
    }
    shard.machine.unloaded?.(error)
    for (const [reply, refuse] of shard.parked) reply.settle(refuse(error))
  }

  /** Gives everything up for good; requests are answered COORDINATOR_NOT_AVAILABLE from now on. */
  close(): void {
    this.#closed = true
    for (const partition of this.partitions) this.resign(partition, 'COORDINATOR_NOT_AVAILABLE')
  }

  /**
   * Runs one decision on the machine of `partition`.
   *
   * @param decide gives the reply, or a `Later` that the machine settles when it sees fit (a parked reply). It may
   * throw a {@link KafkaError} as long as it has changed nothing.
   * @param refuse makes the reply when the partition is not here, `decide` threw, or the append failed.
   */
  execute<Reply>(
    partition: number,
    decide: (machine: M, decision: Decision) => Reply | Later<Reply>,
    refuse: Refuse<Reply>,
  ): Later<Reply> {
    const shard = this.#shards.get(partition)
    if (shard === undefined) return this.#now(refuse(this.#closed ? 'COORDINATOR_NOT_AVAILABLE' : 'NOT_COORDINATOR'))
    const decision = new Decision(this.#env.now())
    let reply: Reply | Later<Reply>
    try {
      reply = decide(shard.machine, decision)
    } catch (thrown) {
      if (thrown instanceof KafkaError) return this.#now(refuse(thrown.error))
      throw thrown
    }
    if (reply instanceof Later) {
      const parked = reply
      this.#park(shard, parked, refuse)
      this.#conclude(shard, decision, undefined, (error, appended) => {
        // Once it is in the log, the machine goes on as if all were well, and will answer.
        if (!appended) parked.settle(refuse(error))
      })
      return parked
    }
    const result = new Later<Reply>(this.#env.turns)
    const value = reply
    this.#conclude(
      shard,
      decision,
      () => result.settle(value),
      error => result.settle(refuse(error)),
    )
    return result
  }

  #now<Reply>(reply: Reply): Later<Reply> {
    return Later.of(this.#env.turns, reply)
  }

  #park<Reply>(shard: Shard<M>, reply: Later<Reply>, refuse: Refuse<Reply>): void {
    if (reply.settled) return
    const key = reply as unknown as Later<never>
    shard.parked.set(key, refuse as unknown as Refuse<never>)
    reply.whenSettled(() => shard.parked.delete(key))
  }

  /** A decision that nobody waits for: a timer, or what follows a commit. */
  #run(shard: Shard<M>, decide: (decision: Decision) => void): void {
    const decision = new Decision(this.#env.now())
    decide(decision)
    this.#conclude(shard, decision)
  }

  /** Appends and applies the records of a decision; `done` or `refused` is called once, now or later. */
  #conclude(shard: Shard<M>, decision: Decision, done?: () => void, refused?: Refused): void {
    const fail = (error: ErrorName, appended: boolean) => {
      for (const putBack of decision.failed) this.#run(shard, next => putBack(error, next, appended))
      refused?.(error, appended)
    }
    if (decision.records.length > 0) {
      try {
        shard.written = shard.log.append(decision.records, decision.now)
      } catch (thrown) {
        fail(errorOfAppend(thrown), false)
        return
      }
      const first = shard.written - decision.records.length
      decision.records.forEach((record, index) => {
        shard.machine.apply(record, first + index)
      })
    }
    const end = shard.written
    const committed = () => {
      for (const effect of decision.committed) this.#run(shard, effect)
      done?.()
    }
    this.#release(shard)
    if (shard.waiting.length === 0 && shard.log.highWatermark >= end) committed()
    else if (done !== undefined || decision.committed.length > 0 || decision.failed.length > 0) {
      this.#wait(shard, end, committed, fail, refused)
    }
  }

  #wait(shard: Shard<M>, offset: number, committed: () => void, fail: Refused, refused?: Refused): void {
    const waiting: Waiting = {
      offset,
      committed,
      dropped: error => refused?.(error, true),
      timer: this.#env.timer(this.#commitTimeoutMs(), () => {
        const index = shard.waiting.indexOf(waiting)
        if (index < 0) return
        shard.waiting.splice(index, 1)
        fail('COORDINATOR_NOT_AVAILABLE', true)
      }),
    }
    shard.waiting.push(waiting)
  }

  /** A turn of its own, since the log may say so in the middle of an append, when the machine has not applied it. */
  #releaseSoon(shard: Shard<M>): void {
    if (shard.releasing || shard.waiting.length === 0) return
    shard.releasing = true
    this.#env.turns.enqueue(() => {
      shard.releasing = false
      this.#release(shard)
    })
  }

  #release(shard: Shard<M>): void {
    while (shard.waiting.length > 0 && shard.waiting[0].offset <= shard.log.highWatermark) {
      const waiting = shard.waiting.shift() as Waiting
      waiting.timer.cancel()
      waiting.committed()
    }
  }
}
