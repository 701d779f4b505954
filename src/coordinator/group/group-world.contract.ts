import { deleteGroups } from '../../protocol/apis/delete-groups.ts'
import { describeGroups } from '../../protocol/apis/describe-groups.ts'
import { heartbeat } from '../../protocol/apis/heartbeat.ts'
import { joinGroup } from '../../protocol/apis/join-group.ts'
import { leaveGroup } from '../../protocol/apis/leave-group.ts'
import { listGroups } from '../../protocol/apis/list-groups.ts'
import { offsetCommit } from '../../protocol/apis/offset-commit.ts'
import { offsetDelete } from '../../protocol/apis/offset-delete.ts'
import { offsetFetch } from '../../protocol/apis/offset-fetch.ts'
import { syncGroup } from '../../protocol/apis/sync-group.ts'
import { isFlexible, readStruct, writeStruct } from '../../protocol/codec.ts'
import type { Api, Decoded, Encodable, Fields, Struct } from '../../protocol/dsl.ts'
import { errorName } from '../../protocol/errors.ts'
import { ByteReader } from '../../util/byte-reader.ts'
import { ByteWriter } from '../../util/byte-writer.ts'
import type { Later } from '../../util/later.ts'
import { utf8Encode } from '../../util/utf8.ts'
import { VirtualEnv } from '../../util/virtual-env.ts'
import { ListLog, TopicList } from '../list-log.contract.ts'
import { DEFAULT_GROUP_CONFIG, type GroupConfig } from './group-config.ts'
import { GroupCoordinator } from './group-coordinator.ts'
import type { GroupContext } from './group-requests.ts'

/**
 * A group coordinator in a world that a test holds still: virtual time, a log as a list, topics by hand. Every request and
 * answer goes through its bytes, so that only what a version can say is said. For tests alone.
 */

/** What was asked and may be answered later. */
export class Answer<T> {
  readonly #later: Later<T>

  constructor(later: Later<T>) {
    this.#later = later
  }

  get parked(): boolean {
    return !this.#later.settled
  }

  /** The answer; it is an error to ask for one that is parked. */
  get value(): T {
    if (!this.#later.settled) throw new Error('not answered yet')
    return this.#later.value
  }

  /** The name of its error at the top, or 'parked'. */
  get error(): string {
    if (this.parked) return 'parked'
    return errorName((this.value as { errorCode: number }).errorCode)
  }
}

export class World {
  readonly env = new VirtualEnv()
  readonly topics = new TopicList()
  readonly config: GroupConfig
  readonly coordinator: GroupCoordinator
  log = new ListLog()
  clientId: string | null = 'client'

  constructor(config: Partial<GroupConfig> = {}) {
    this.config = { ...DEFAULT_GROUP_CONFIG, minSessionTimeoutMs: 1_000, initialRebalanceDelayMs: 0, ...config }
    this.coordinator = new GroupCoordinator({
      env: this.env,
      config: () => this.config,
      topics: this.topics,
      partitions: () => 1,
    })
    this.coordinator.elected(0, this.log)
  }

  /** Another broker, or this one again, takes over with the same log. */
  reload(): void {
    this.coordinator.resigned(0)
    this.log = ListLog.from(this.log.records)
    this.coordinator.elected(0, this.log)
    this.settle()
  }

  get machine() {
    const machine = this.coordinator.machine(0)
    if (machine === undefined) throw new Error('not loaded')
    return machine
  }

  group(groupId = 'g') {
    const group = this.machine.context.groups.get(groupId)
    if (group === undefined) throw new Error(`no group ${groupId}`)
    return group
  }

  /** Runs what is due now. */
  settle(): void {
    this.env.advance(0)
  }

  /** Lets time pass. */
  wait(ms: number): void {
    this.env.advance(ms)
  }

  #send<Request extends Fields, Response extends Fields>(
    api: Api<Request, Response>,
    version: number,
    request: Encodable<Struct<Request>>,
    handle: (request: Decoded<Struct<Request>>, context: GroupContext) => Later<Encodable<Struct<Response>>>,
  ): Answer<Decoded<Struct<Response>>> {
    const context = { apiVersion: version, clientId: this.clientId, clientHost: '/127.0.0.1' }
    const asked = throughBytes(api, api.request, version, request)
    const answered = handle(asked, context).map(response => throughBytes(api, api.response, version, response))
    this.settle()
    return new Answer(answered)
  }

  join(request: Encodable<typeof joinGroup.request>, version = 9) {
    const body = {
      groupId: 'g',
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: version > 0 ? 60_000 : undefined,
      protocolType: 'consumer',
      protocols: [protocol('range', 'm')],
      ...request,
    }
    return this.#send(joinGroup, version, body, (asked, context) => this.coordinator.joinGroup(asked, context))
  }

  sync(request: Encodable<typeof syncGroup.request>, version = 4) {
    return this.#send(syncGroup, version, { groupId: 'g', ...request }, (asked, context) =>
      this.coordinator.syncGroup(asked, context),
    )
  }

  heartbeat(request: Encodable<typeof heartbeat.request>, version = 4) {
    return this.#send(heartbeat, version, { groupId: 'g', ...request }, (asked, context) =>
      this.coordinator.heartbeat(asked, context),
    )
  }

  leave(request: Encodable<typeof leaveGroup.request>, version = 5) {
    return this.#send(leaveGroup, version, { groupId: 'g', ...request }, (asked, context) =>
      this.coordinator.leaveGroup(asked, context),
    )
  }

  commit(request: Encodable<typeof offsetCommit.request>, version = 8) {
    return this.#send(offsetCommit, version, { groupId: 'g', ...request }, (asked, context) =>
      this.coordinator.offsetCommit(asked, context),
    )
  }

  fetch(request: Encodable<typeof offsetFetch.request>, version = 8) {
    return this.#send(offsetFetch, version, request, (asked, context) => this.coordinator.offsetFetch(asked, context))
  }

  describe(groups: string[] = ['g'], version = 6) {
    return this.#send(describeGroups, version, { groups }, (asked, context) =>
      this.coordinator.describeGroups(asked, context),
    )
  }

  list(request: Encodable<typeof listGroups.request> = {}, version = 5) {
    return this.#send(listGroups, version, request, (asked, context) => this.coordinator.listGroups(asked, context))
  }

  deleteGroups(groupsNames: string[], version = 2) {
    return this.#send(deleteGroups, version, { groupsNames }, (asked, context) =>
      this.coordinator.deleteGroups(asked, context),
    )
  }

  deleteOffsets(request: Encodable<typeof offsetDelete.request>) {
    return this.#send(offsetDelete, 0, { groupId: 'g', ...request }, (asked, context) =>
      this.coordinator.deleteOffsets(asked, context),
    )
  }
}

/** Writes a message in a version and reads it again: what the version lacks is gone, what it needs is there. */
function throughBytes<F extends Fields>(
  api: Api,
  schema: Struct<F>,
  version: number,
  value: Encodable<Struct<F>>,
): Decoded<Struct<F>> {
  const writer = new ByteWriter()
  writeStruct(schema, version, isFlexible(api, version), writer, value)
  return readStruct(schema, version, isFlexible(api, version), new ByteReader(writer.finish()))
}

export function bytes(text: string): Uint8Array {
  return utf8Encode(text)
}

export function protocol(name: string, metadata: string) {
  return { name, metadata: bytes(metadata) }
}
