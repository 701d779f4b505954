/**
 * A consumer in a group: a {@link GroupMember} that says what to read, and a {@link Consumer} that reads it, beginning at the
 * committed offsets. Rebalances happen when they come, not inside poll. Follows KafkaConsumer with subscribe().
 */

import type { Later } from '../util/later.ts'
import type { KafkaClient } from './client.ts'
import { Consumer, type ConsumerOptions, type ConsumerRecord } from './consumer.ts'
import { type GroupListener, GroupMember, type GroupMemberOptions } from './group-member.ts'
import type { OffsetToCommit } from './offsets.ts'
import { DONE, fail, type Result } from './result.ts'
import { type Task, until } from './task.ts'
import { partitionKey, type TopicPartition } from './topic-partition.ts'

export interface GroupConsumerOptions extends ConsumerOptions, GroupMemberOptions {
  /** Whether polls, revocations and the close commit what earlier polls gave. Default false. */
  readonly autoCommit?: boolean
  /** Default 5000. */
  readonly autoCommitIntervalMs?: number
}

/**
 * Reads topics together with the other members of the group.
 *
 * @example
 * const consumer = new GroupConsumer(client, { groupId: 'billing', topics: ['orders'], autoOffsetReset: 'earliest' })
 * const loop = () =>
 *   consumer.poll(1000).whenSettled(result => {
 *     if (!result.ok) return report(result.error)
 *     handle(result.value)
 *     consumer.commit().whenSettled(loop)
 *   })
 * loop()
 */
export class GroupConsumer {
  readonly consumer: Consumer
  readonly member: GroupMember
  readonly #client: KafkaClient
  readonly #options: GroupConsumerOptions
  /** What the caller is done with when auto commit is on: positions as they were when it came back to poll. */
  #done = new Map<string, OffsetToCommit>()
  #committedAt: number
  #closed = false

  constructor(client: KafkaClient, options: GroupConsumerOptions) {
    this.#client = client
    this.#options = options
    this.#committedAt = client.env.now()
    this.consumer = new Consumer(client, options)
    const listener: GroupListener = {
      assigned: partitions => client.run(this.#assigned(partitions)),
      revoked: partitions => client.run(this.#revoked(partitions)),
      lost: partitions => client.run(this.#lost(partitions)),
      failed: error => {
        this.consumer.fail(error)
        options.listener?.failed?.(error)
      },
    }
    this.member = new GroupMember(client, { ...options, listener })
    this.member.start()
  }

  /** Gives records of the partitions that this member has. An error of the group that is for good comes back every time. */
  poll(timeoutMs = 0): Later<Result<ConsumerRecord[]>> {
    if (this.member.error !== undefined) return this.#client.settled({ ok: false, error: this.member.error })
    if (this.#options.autoCommit) this.#autoCommit()
    return this.consumer.poll(timeoutMs)
  }

  /** Commits the positions, or what is given. */
  commit(offsets: readonly OffsetToCommit[] = this.#positions()): Later<Result<void>> {
    if (this.#closed) return this.#client.failed(fail('OTTLA_CLIENT_CLOSED', 'the consumer is closed'))
    return this.member.commit(offsets)
  }

  /** Revokes and leaves; with auto commit what was read is committed first. */
  close(): Later<Result<void>> {
    if (this.#closed) return this.#client.settled(DONE)
    this.#closed = true
    this.#rememberPositions()
    return this.#client.run(this.#close())
  }

  *#close(): Task<Result<void>> {
    const left = yield* until(this.member.leave())
    yield* until(this.consumer.close())
    return left
  }

  #positions(): OffsetToCommit[] {
    return this.consumer.assignment.flatMap(each => {
      const position = this.consumer.positionNow(each)
      return position === undefined ? [] : [{ ...each, ...position }]
    })
  }

  #rememberPositions(): void {
    this.#done = new Map(this.#positions().map(each => [partitionKey(each), each]))
  }

  #autoCommit(): void {
    this.#rememberPositions()
    const now = this.#client.env.now()
    if (now - this.#committedAt < (this.#options.autoCommitIntervalMs ?? 5000)) return
    this.#committedAt = now
    this.member.commit([...this.#done.values()]).whenSettled(result => {
      if (!result.ok) this.#client.env.log('warn', `auto commit failed: ${result.error.message}`)
    })
  }

  *#assigned(added: readonly TopicPartition[]): Task<void> {
    if (added.length > 0) {
      const committed = yield* until(this.member.committed(added))
      // A rebalance may have overtaken the answer, but then its revocation waits behind this.
      this.consumer.assign([...this.consumer.assignment, ...added])
      if (!committed.ok) this.consumer.fail(committed.error)
      else {
        for (const each of added) {
          const found = committed.value.get(partitionKey(each))
          if (found !== undefined) this.consumer.seek(each, found.offset, found.leaderEpoch)
        }
      }
    }
    yield* heard(this.#options.listener?.assigned?.(added))
  }

  *#revoked(partitions: readonly TopicPartition[]): Task<void> {
    yield* heard(this.#options.listener?.revoked?.(partitions))
    if (this.#options.autoCommit) {
      const offsets = partitions.flatMap(each => this.#done.get(partitionKey(each)) ?? [])
      const result = yield* until(this.member.commit(offsets))
      if (!result.ok) this.#client.env.log('warn', `commit before revocation failed: ${result.error.message}`)
    }
    this.#drop(partitions)
  }

  *#lost(partitions: readonly TopicPartition[]): Task<void> {
    this.#drop(partitions)
    yield* heard(this.#options.listener?.lost?.(partitions))
  }

  #drop(partitions: readonly TopicPartition[]): void {
    const gone = new Set(partitions.map(partitionKey))
    for (const key of gone) this.#done.delete(key)
    this.consumer.assign(this.consumer.assignment.filter(each => !gone.has(partitionKey(each))))
  }
}

function* heard(later: Later<unknown> | undefined): Task<void> {
  if (later !== undefined) yield* until(later)
}
