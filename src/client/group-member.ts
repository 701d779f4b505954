/**
 * A member of a classic consumer group: finds the coordinator, joins, syncs, sends heartbeats, and joins again when told to.
 * It says who reads what and when that changes; it reads nothing itself. Follows ConsumerCoordinator and AbstractCoordinator
 * (KIP-62, KIP-345, KIP-394, KIP-429).
 *
 * | state     | means                                                | ends with                                           |
 * | --------- | ---------------------------------------------------- | --------------------------------------------------- |
 * | unjoined  | not in the group, or not any more                    | the next join                                       |
 * | joining   | JoinGroup or SyncGroup is on its way                 | stable, or unjoined when the coordinator refuses    |
 * | stable    | has a generation, and heartbeats are sent            | joining, when there is a rebalance; unjoined        |
 * | left      | has left                                             |                                                     |
 * | failed    | the group will not have this member; see `error`     |                                                     |
 */

import type { Assignor } from '../core/assignors/assignor.ts'
import { assignors } from '../core/assignors/index.ts'
import { heartbeat } from '../protocol/apis/heartbeat.ts'
import { Later } from '../util/later.ts'
import type { Timer } from '../util/timer-queue.ts'
import type { KafkaClient } from './client.ts'
import { type GroupIdentity, joinAndSync, leave } from './group-join.ts'
import { type CommittedOffset, commitOffsets, committedOffsets, type OffsetToCommit } from './offsets.ts'
import { withDefaults } from './options.ts'
import { type ClientError, DONE, failureOf, type Result } from './result.ts'
import { type Task, until } from './task.ts'
import { partitionKey, type TopicPartition } from './topic-partition.ts'

/** Hears of every change. The member waits for what is returned, and goes on sending heartbeats meanwhile. */
export interface GroupListener {
  /** These partitions are new. */
  assigned?(partitions: readonly TopicPartition[]): Later<unknown> | undefined
  /** These partitions go to somebody else: the last moment to commit. */
  revoked?(partitions: readonly TopicPartition[]): Later<unknown> | undefined
  /** These partitions are gone already: commits for them are refused. */
  lost?(partitions: readonly TopicPartition[]): Later<unknown> | undefined
  /** The member has failed for good. */
  failed?(error: ClientError): void
}

export interface GroupMemberOptions {
  readonly groupId: string
  readonly topics: readonly string[]
  /** Makes the member static: it keeps its partitions over a restart within the session timeout (KIP-345). */
  readonly groupInstanceId?: string
  /** Default range and cooperative-sticky, as in Java. Cooperative only if all are. */
  readonly assignors?: readonly Assignor[]
  /** Default 45000. */
  readonly sessionTimeoutMs?: number
  /** How long members may take to join again. Default 300000. */
  readonly rebalanceTimeoutMs?: number
  /** Default 3000. */
  readonly heartbeatIntervalMs?: number
  readonly rackId?: string
  readonly listener?: GroupListener
}

const MEMBER_DEFAULTS = {
  assignors: assignors.filter(({ name }) => name === 'range' || name === 'cooperative-sticky'),
  sessionTimeoutMs: 45_000,
  rebalanceTimeoutMs: 300_000,
  heartbeatIntervalMs: 3_000,
  listener: {} as GroupListener,
}

export type ResolvedMemberOptions = GroupMemberOptions & typeof MEMBER_DEFAULTS

export type MemberStatus = 'unjoined' | 'joining' | 'stable' | 'left' | 'failed'

/**
 * A member of a group.
 *
 * @example
 * const member = new GroupMember(client, {
 *   groupId: 'billing',
 *   topics: ['orders'],
 *   listener: { assigned: partitions => void console.log(partitions) },
 * })
 * member.start()
 */
export class GroupMember {
  readonly #client: KafkaClient
  readonly #options: ResolvedMemberOptions
  readonly #cooperative: boolean
  readonly #identity: GroupIdentity
  #topics: readonly string[]
  #status: MemberStatus = 'unjoined'
  #error: ClientError | undefined
  #owned: TopicPartition[] = []
  /** Partition counts as the leader saw them when it made the assignment; undefined for others. */
  #counts: string | undefined
  #rejoin = true
  #lost = false
  #started = false
  /** Settles when the member has something to look at. */
  #news: Later<void>
  #beatTimer: Timer | undefined
  #running: Later<void> | undefined

  constructor(client: KafkaClient, options: GroupMemberOptions) {
    this.#client = client
    this.#options = withDefaults(MEMBER_DEFAULTS, options)
    this.#cooperative = this.#options.assignors.every(each => each.rebalanceProtocol === 'cooperative')
    this.#topics = options.topics
    this.#news = new Later(client.env.turns)
    this.#identity = {
      groupId: options.groupId,
      groupInstanceId: options.groupInstanceId ?? null,
      lane: client.newLane('group'),
      memberId: '',
      generation: -1,
      previous: [],
    }
  }

  get status(): MemberStatus {
    return this.#status
  }

  /** Why the member failed. */
  get error(): ClientError | undefined {
    return this.#error
  }

  /** Empty until the coordinator has given one. */
  get memberId(): string {
    return this.#identity.memberId
  }

  /** −1 outside of the group. */
  get generation(): number {
    return this.#identity.generation
  }

  /** The partitions that this member reads. */
  get owned(): readonly TopicPartition[] {
    return this.#owned
  }

  /** Joins, and stays until {@link leave}. */
  start(): void {
    if (this.#started) return
    this.#started = true
    this.#running = this.#client.run(this.#live())
  }

  /** Reads other topics from now on: a rebalance follows. */
  subscribe(topics: readonly string[]): void {
    this.#topics = topics
    this.requestRejoin()
  }

  /** Makes the member join again. */
  requestRejoin(): void {
    this.#rejoin = true
    this.#happened()
  }

  /** Leaves; a static member only goes silent, so that it finds its partitions again. Partitions are revoked first. */
  leave(): Later<Result<void>> {
    if (this.#over) return this.#client.settled(DONE)
    const joining = this.#status === 'joining'
    this.#status = 'left'
    this.#beatTimer?.cancel()
    // A parked JoinGroup would hold the leave up for as long as the others take.
    if (joining) this.#client.closeLane(this.#identity.lane)
    this.#happened()
    return this.#client.run(this.#leave())
  }

  *#leave(): Task<Result<void>> {
    if (this.#running !== undefined) yield* until(this.#running)
    yield* this.#revoke(this.#owned)
    const result = yield* leave(this.#client, this.#identity)
    this.#client.closeLane(this.#identity.lane)
    this.#identity.generation = -1
    return result
  }

  get #over(): boolean {
    return this.#status === 'left' || this.#status === 'failed'
  }

  /** Commits offsets in the name of this member. An error of the generation makes it join again. */
  commit(offsets: readonly OffsetToCommit[]): Later<Result<void>> {
    const { groupId, memberId, generation, groupInstanceId, lane } = this.#identity
    const member = { memberId, generation, groupInstanceId, lane }
    return this.#client.run(commitOffsets(this.#client, groupId, offsets, member)).map(result => {
      if (!result.ok && generation === this.#identity.generation) this.#heed(result.error)
      return result
    })
  }

  /** The committed offsets of the group, keyed by `topic:partition`. */
  committed(partitions: readonly TopicPartition[]): Later<Result<Map<string, CommittedOffset>>> {
    const { groupId, lane } = this.#identity
    return this.#client.run(committedOffsets(this.#client, groupId, partitions, lane))
  }

  *#live(): Task<void> {
    let failures = 0
    while (!this.#over && !this.#client.closed) {
      const news = this.#news
      if (!this.#rejoin) {
        yield* until(news)
        continue
      }
      yield* this.#prepare()
      if (this.#over) return
      const joined = yield* this.#join()
      if (joined.ok) failures = 0
      else if (!this.#over && !IMMEDIATE.has(joined.error.code)) {
        yield* until(this.#client.pause(this.#client.backoffMs(failures++)))
      }
    }
  }

  /** Gives up what must be given up before joining: all of it in an eager group. */
  *#prepare(): Task<void> {
    if (this.#lost) {
      this.#lost = false
      const lost = this.#owned
      this.#owned = []
      if (lost.length > 0) yield* heard(this.#options.listener.lost?.(lost))
      return
    }
    const subscribed = new Set(this.#topics)
    yield* this.#revoke(this.#cooperative ? this.#owned.filter(each => !subscribed.has(each.topic)) : this.#owned)
  }

  *#revoke(partitions: readonly TopicPartition[]): Task<void> {
    if (partitions.length === 0) return
    const gone = new Set(partitions.map(partitionKey))
    this.#owned = this.#owned.filter(each => !gone.has(partitionKey(each)))
    yield* heard(this.#options.listener.revoked?.(partitions))
  }

  *#join(): Task<Result<void>> {
    this.#rejoin = false
    this.#status = 'joining'
    this.#beatTimer?.cancel()
    const owned = this.#cooperative ? this.#owned : []
    const joined = yield* joinAndSync(this.#client, this.#options, this.#identity, this.#topics, owned)
    if (this.#over) return DONE
    if (!joined.ok) {
      this.#status = 'unjoined'
      this.#rejoin = true
      this.#heed(joined.error)
      return joined
    }
    this.#status = 'stable'
    this.#counts = joined.value.isLeader ? this.#partitionCounts() : undefined
    this.#scheduleBeat(this.#options.heartbeatIntervalMs)
    yield* this.#take(joined.value.partitions)
    return DONE
  }

  /** Moves from what is owned to what is assigned: first what goes, then what comes. */
  *#take(assigned: readonly TopicPartition[]): Task<void> {
    const target = new Set(assigned.map(partitionKey))
    const before = new Set(this.#owned.map(partitionKey))
    const revoked = this.#owned.filter(each => !target.has(partitionKey(each)))
    if (revoked.length > 0) {
      yield* this.#revoke(revoked)
      // Whoever is to have them gets them in the next round (KIP-429).
      this.#rejoin = true
    }
    if (this.#over) return
    const added = assigned.filter(each => !before.has(partitionKey(each)))
    this.#owned = [...assigned]
    yield* heard(this.#options.listener.assigned?.(added))
  }

  #scheduleBeat(ms: number): void {
    this.#beatTimer?.cancel()
    this.#beatTimer = this.#client.env.timer(ms, () => this.#beat())
  }

  #beat(): void {
    if (this.#client.closed || this.#status !== 'stable') return
    this.#watchTopics()
    const { groupId, generation, memberId, groupInstanceId, lane } = this.#identity
    const body = { groupId, generationId: generation, memberId, groupInstanceId }
    const check = (response: { errorCode: number }) => failureOf(response.errorCode)
    const { heartbeatIntervalMs, sessionTimeoutMs } = this.#options
    const options = { lane, timeoutMs: Math.min(sessionTimeoutMs, this.#client.options.requestTimeoutMs) }
    const beat = this.#client.run(this.#client.askCoordinator(groupId, heartbeat, body, check, options))
    beat.whenSettled(result => {
      if (this.#status !== 'stable' || generation !== this.#identity.generation) return
      if (!result.ok) this.#heed(result.error)
      const backoff = Math.min(heartbeatIntervalMs, this.#client.options.retryBackoffMs)
      if (this.#status === 'stable') this.#scheduleBeat(result.ok ? heartbeatIntervalMs : backoff)
    })
  }

  /** The leader answers for the number of partitions: when it changes, the assignment is no longer right. */
  #watchTopics(): void {
    this.#client.use(this.#topics)
    if (this.#counts === undefined) return
    if (this.#topics.some(topic => this.#client.metadata.topic(topic) === undefined)) this.#client.refresh()
    else this.#client.freshen()
    if (this.#counts !== this.#partitionCounts()) this.requestRejoin()
  }

  #partitionCounts(): string {
    return this.#topics.map(topic => this.#client.metadata.topic(topic)?.partitions.length ?? 0).join()
  }

  /** Draws the consequences of an error that the coordinator gave. */
  #heed(error: ClientError): void {
    const { code } = error
    if (code === 'UNKNOWN_MEMBER_ID' || code === 'ILLEGAL_GENERATION') {
      this.#identity.generation = -1
      if (code === 'UNKNOWN_MEMBER_ID') this.#identity.memberId = ''
      this.#lost = true
      if (this.#status === 'stable') this.#status = 'unjoined'
      this.requestRejoin()
    } else if (code === 'REBALANCE_IN_PROGRESS') this.requestRejoin()
    else if (FATAL.has(code)) this.#fail(error)
  }

  #fail(error: ClientError): void {
    if (this.#over) return
    this.#status = 'failed'
    this.#error = error
    this.#identity.generation = -1
    this.#beatTimer?.cancel()
    this.#happened()
    const lost = this.#owned
    this.#owned = []
    if (lost.length > 0) this.#options.listener.lost?.(lost)
    this.#options.listener.failed?.(error)
  }

  #happened(): void {
    this.#news.settle()
    this.#news = new Later(this.#client.env.turns)
  }
}

function* heard(later: Later<unknown> | undefined): Task<void> {
  if (later !== undefined) yield* until(later)
}

/** After these joining again needs no pause. */
const IMMEDIATE: ReadonlySet<string> = new Set([
  'MEMBER_ID_REQUIRED',
  'UNKNOWN_MEMBER_ID',
  'ILLEGAL_GENERATION',
  'REBALANCE_IN_PROGRESS',
])

/** After these the group will not have this member, however often it asks. */
const FATAL: ReadonlySet<string> = new Set([
  'FENCED_INSTANCE_ID',
  'INCONSISTENT_GROUP_PROTOCOL',
  'INVALID_SESSION_TIMEOUT',
  'INVALID_GROUP_ID',
  'GROUP_AUTHORIZATION_FAILED',
  'TOPIC_AUTHORIZATION_FAILED',
  'GROUP_MAX_SIZE_REACHED',
  'UNSUPPORTED_VERSION',
  'OTTLA_INVALID_ARGUMENT',
  'OTTLA_BAD_RESPONSE',
])
