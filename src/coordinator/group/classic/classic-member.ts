import { assert } from '../../../util/assert.ts'
import { Later } from '../../../util/later.ts'
import type { Turns } from '../../../util/turns.ts'
import type { JoinGroupResponse, SyncGroupResponse } from '../group-requests.ts'

/**
 * One member of a classic group: what it asked for, what it was given, and its replies that are parked. All of it is
 * soft state, except as far as the group's last record holds it. Follows `ClassicGroupMember`.
 */

/** A way to assign that a member knows, with what its assignor wants the leader to be told. */
export interface GroupProtocol {
  readonly name: string
  readonly metadata: Uint8Array
}

const NO_ASSIGNMENT = new Uint8Array(0)

export interface ClassicMemberOptions {
  memberId: string
  groupInstanceId: string | null
  clientId: string
  clientHost: string
  rebalanceTimeoutMs: number
  sessionTimeoutMs: number
  protocolType: string
  protocols: readonly GroupProtocol[]
  assignment?: Uint8Array
}

export class ClassicMember {
  readonly memberId: string
  readonly groupInstanceId: string | null
  readonly clientId: string
  readonly clientHost: string
  readonly protocolType: string
  rebalanceTimeoutMs: number
  sessionTimeoutMs: number
  /** In the member's order of preference. */
  protocols: readonly GroupProtocol[]
  /** Empty until the leader assigned something. */
  assignment: Uint8Array
  /** Its join has never been answered: then being parked does not keep it alive forever. */
  isNew = false
  /** Its JoinGroup, while it is parked. */
  awaitingJoin: Later<JoinGroupResponse> | undefined
  /** Its SyncGroup, while it is parked. */
  awaitingSync: Later<SyncGroupResponse> | undefined
  /** The names of the protocols, and of which: a list as long as a request may be is not looked through for each name. */
  #names: ReadonlySet<string> = new Set()
  #named: readonly GroupProtocol[] | undefined

  constructor(options: ClassicMemberOptions) {
    this.memberId = options.memberId
    this.groupInstanceId = options.groupInstanceId
    this.clientId = options.clientId
    this.clientHost = options.clientHost
    this.rebalanceTimeoutMs = options.rebalanceTimeoutMs
    this.sessionTimeoutMs = options.sessionTimeoutMs
    this.protocolType = options.protocolType
    this.protocols = options.protocols
    this.assignment = options.assignment ?? NO_ASSIGNMENT
  }

  get isStatic(): boolean {
    return this.groupInstanceId !== null
  }

  /** A parked request is as good as a heartbeat, but not the first join of a new member. */
  get hasSatisfiedHeartbeat(): boolean {
    return !this.isNew && (this.awaitingJoin !== undefined || this.awaitingSync !== undefined)
  }

  supports(protocolName: string): boolean {
    if (this.#named !== this.protocols) {
      this.#named = this.protocols
      this.#names = new Set(this.protocols.map(({ name }) => name))
    }
    return this.#names.has(protocolName)
  }

  /** Its metadata for a protocol that it listed. */
  metadata(protocolName: string): Uint8Array {
    const protocol = this.protocols.find(candidate => candidate.name === protocolName)
    assert(protocol !== undefined, `member ${this.memberId} does not know protocol ${protocolName}`)
    return protocol.metadata
  }

  /** Whether `protocols` are what the member said before: same names, same order, same bytes. */
  matches(protocols: readonly GroupProtocol[]): boolean {
    return (
      protocols.length === this.protocols.length &&
      protocols.every((protocol, index) => {
        const mine = this.protocols[index]
        return protocol.name === mine.name && sameBytes(protocol.metadata, mine.metadata)
      })
    )
  }

  /** The first of its protocols that is among `candidates`. */
  vote(candidates: ReadonlySet<string>): string {
    const protocol = this.protocols.find(candidate => candidates.has(candidate.name))
    assert(protocol !== undefined, `member ${this.memberId} knows none of the candidates`)
    return protocol.name
  }

  /** The same member under another id, as it is stored; parked replies stay behind. */
  withMemberId(memberId: string): ClassicMember {
    return new ClassicMember({ ...this, memberId })
  }

  /** Parks a JoinGroup. One that is sent again is answered with the same, so that both end. */
  parkJoin(turns: Turns): Later<JoinGroupResponse> {
    this.awaitingJoin ??= new Later(turns)
    return this.awaitingJoin
  }

  /** Parks a SyncGroup, in the same way. */
  parkSync(turns: Turns): Later<SyncGroupResponse> {
    this.awaitingSync ??= new Later(turns)
    return this.awaitingSync
  }

  /** Answers its parked JoinGroup; does nothing when there is none. */
  answerJoin(response: JoinGroupResponse): void {
    const parked = this.awaitingJoin
    this.awaitingJoin = undefined
    parked?.settle(response)
  }

  /** Answers its parked SyncGroup; says whether there was one. */
  answerSync(response: SyncGroupResponse): boolean {
    const parked = this.awaitingSync
    this.awaitingSync = undefined
    parked?.settle(response)
    return parked !== undefined
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index])
}
