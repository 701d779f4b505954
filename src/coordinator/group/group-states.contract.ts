import { protocol, World } from './group-world.contract.ts'

/**
 * A classic group with two members, brought into a state. For tests alone.
 */

export interface Scene {
  world: World
  leader: string
  follower: string
  /** The generation that both members know. */
  generation: number
}

/** 'Dead' is a group that never was. */
export type SceneState = 'Dead' | 'Empty' | 'PreparingRebalance' | 'CompletingRebalance' | 'Stable'

export const SCENE_STATES: readonly SceneState[] = [
  'Dead',
  'Empty',
  'PreparingRebalance',
  'CompletingRebalance',
  'Stable',
]

/** The protocols that both members list; the follower's metadata is `f`, the leader's `l`. */
export const LEADER_PROTOCOLS = [protocol('range', 'l')]
export const FOLLOWER_PROTOCOLS = [protocol('range', 'f')]

/**
 * PreparingRebalance has a third member that is parked, and neither of the two; in CompletingRebalance both know their
 * generation and nobody has synced.
 */
export function groupIn(state: SceneState, world = new World({ initialRebalanceDelayMs: 10 })): Scene {
  if (state === 'Dead') return { world, leader: 'nobody', follower: 'nobody else', generation: 1 }
  // Version 2 needs no member id, and both are there before the delay ends: one generation.
  const first = world.join({ protocols: LEADER_PROTOCOLS }, 2)
  const second = world.join({ protocols: FOLLOWER_PROTOCOLS }, 2)
  world.wait(20)
  const leader = first.value.memberId
  const follower = second.value.memberId
  const scene = { world, leader, follower, generation: first.value.generationId }
  if (state === 'CompletingRebalance') return scene
  if (state === 'Empty') {
    world.leave({ members: [{ memberId: leader }, { memberId: follower }] })
    return scene
  }
  syncBoth(scene)
  if (state === 'PreparingRebalance') world.join({}, 2)
  return scene
}

/** Both members sync: the group is stable, with assignments `for l` and `for f`. */
export function syncBoth({ world, leader, follower, generation: generationId }: Scene): void {
  const encode = (text: string) => protocol('', text).metadata
  world.sync({ generationId, memberId: follower })
  world.sync({
    generationId,
    memberId: leader,
    assignments: [
      { memberId: leader, assignment: encode('for l') },
      { memberId: follower, assignment: encode('for f') },
    ],
  })
}

/** The state as DescribeGroups has it. */
export function stateOf({ world }: Scene): string {
  return world.describe().value.groups[0].groupState
}
