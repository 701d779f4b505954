import type { Broker } from './broker.ts'
import { evictMembers } from './evict.ts'
import { isLater, type Reply, type RequestContext } from './handler.ts'

/**
 * Which member of which group was last heard of on which connection, so that one whose connection ends can be taken out of its
 * group at once. Kafka waits for the session to end, since a client may connect again; tests that stop or break a client need not.
 */

const OF_MEMBERS = ['JoinGroup', 'SyncGroup', 'Heartbeat']

export class MemberConnections {
  readonly #broker: Broker
  /** By group and member, as one text. */
  readonly #lastSeen = new Map<string, { groupId: string; memberId: string; connectionId: number }>()

  constructor(broker: Broker) {
    this.#broker = broker
  }

  observe(api: string, request: unknown, reply: Reply<unknown>, { connectionId }: RequestContext): void {
    if (!OF_MEMBERS.includes(api)) return
    const { groupId, memberId } = request as { groupId: string; memberId: string }
    if (memberId !== '') return this.#note(groupId, memberId, connectionId)
    // The answer gives it its id.
    const answered = (said: unknown) => {
      const given = (said as { memberId?: string } | undefined)?.memberId
      if (given) this.#note(groupId, given, connectionId)
    }
    if (isLater(reply)) reply.whenSettled(answered)
    else answered(reply)
  }

  #note(groupId: string, memberId: string, connectionId: number): void {
    this.#lastSeen.set(JSON.stringify([groupId, memberId]), { groupId, memberId, connectionId })
  }

  disconnected(ended: number): void {
    for (const [key, { groupId, memberId, connectionId }] of this.#lastSeen) {
      if (connectionId !== ended) continue
      this.#lastSeen.delete(key)
      evictMembers(this.#broker, { groupId, memberId, reason: 'its connection ended' })
    }
  }
}
