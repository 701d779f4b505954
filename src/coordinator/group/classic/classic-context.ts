import type { Env } from '../../../util/env.ts'
import type { Decision } from '../../decision.ts'
import type { Timers } from '../../runtime.ts'
import type { GroupConfig } from '../group-config.ts'
import type { ClassicGroup } from './classic-group.ts'

/**
 * What the rules of classic groups may reach besides the group and the decision they are in, and the names of the
 * timers that they set. No rules here.
 */
export interface ClassicContext {
  readonly env: Env
  readonly timers: Timers
  /** All classic groups of this partition. */
  readonly groups: Map<string, ClassicGroup>
  readonly config: () => GroupConfig
  readonly timeouts: ClassicTimeouts
}

/** What happens when a timer fires. They stand here, not where the timers are set, because each leads back there. */
export interface ClassicTimeouts {
  session(context: ClassicContext, decision: Decision, group: ClassicGroup, memberId: string): void
  sync(context: ClassicContext, decision: Decision, group: ClassicGroup, generationId: number): void
}

/** Until when a member must be heard of. The length keeps group and member apart, whatever characters they have. */
export function sessionKey(groupId: string, memberId: string): string {
  return `session:${groupId.length}:${groupId}:${memberId}`
}

/** Until when members may join. */
export function joinKey(groupId: string): string {
  return `join:${groupId}`
}

/** Until when members must have synced. */
export function syncKey(groupId: string): string {
  return `sync:${groupId}`
}

/** Ends all timers of a group that goes away. */
export function cancelTimers(context: ClassicContext, group: ClassicGroup): void {
  context.timers.cancel(joinKey(group.groupId))
  context.timers.cancel(syncKey(group.groupId))
  for (const memberId of group.members.keys()) context.timers.cancel(sessionKey(group.groupId, memberId))
  for (const memberId of group.pendingJoin) context.timers.cancel(sessionKey(group.groupId, memberId))
}
