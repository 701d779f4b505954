/** In each generation of a group a partition has one owner at the most, whichever coordinators there have been. */

import { type Checker, Violation } from '../../history.ts'
import type { MemberActor } from '../../workload/member-actor.ts'
import type { PresentMember } from '../../workload/members.ts'

const NAME = 'partition owners'

export class PartitionOwners implements Checker {
  readonly name = NAME
  readonly #members: () => readonly PresentMember[]
  /** What a group knew was lost, as it may be: generations may come again. */
  readonly #isExcused: (groupId: string) => boolean
  /** By group, generation and partition. */
  readonly #owners = new Map<string, string>()
  /** What was seen of a member last. */
  readonly #seen = new WeakMap<MemberActor, readonly unknown[]>()

  constructor(members: () => readonly PresentMember[], isExcused: (groupId: string) => boolean) {
    this.#members = members
    this.#isExcused = isExcused
  }

  step(): void {
    for (const { group, actor } of this.#members()) {
      const { status, generation, owned, memberId } = actor.consumer.member
      if (status !== 'stable') continue
      const [knownGeneration, knownOwned] = this.#seen.get(actor) ?? []
      if (knownGeneration === generation && knownOwned === owned) continue
      this.#seen.set(actor, [generation, owned])
      for (const { topic, partition } of owned) this.#owns(group.id, generation, `${topic}-${partition}`, memberId)
    }
  }

  #owns(groupId: string, generation: number, partition: string, memberId: string): void {
    const key = `${groupId} ${generation} ${partition}`
    const owner = this.#owners.get(key)
    if (owner === undefined) this.#owners.set(key, memberId)
    else if (owner !== memberId && !this.#isExcused(groupId)) {
      throw new Violation(NAME, `${partition} has ${owner} and ${memberId} in generation ${generation} of ${groupId}`)
    }
  }
}
