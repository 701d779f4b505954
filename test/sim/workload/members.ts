/** The members of all groups of a simulation: they join, and some of them leave or die. */

import type { Chance } from '../chance.ts'
import type { PlannedGroup } from '../plan.ts'
import type { ClientProcess, ClientWorld } from './client-process.ts'
import { MemberActor } from './member-actor.ts'

export interface PresentMember {
  readonly group: PlannedGroup
  readonly actor: MemberActor
}

export interface MembersOptions {
  readonly groups: readonly PlannedGroup[]
  readonly clients: ClientWorld
  readonly chance: Chance
  readonly trace: (text: string) => void
}

export class Members {
  readonly present: PresentMember[] = []
  /** Members that left; their connections end with the work. */
  readonly #former: MemberActor[] = []
  readonly #options: MembersOptions
  #number = 0

  constructor(options: MembersOptions) {
    this.#options = options
  }

  /** The first members of every group. */
  begin(): void {
    for (const group of this.#options.groups) for (let index = 0; index < group.members; index++) this.#join(group)
  }

  #join(group: PlannedGroup): void {
    const { clients, chance, trace } = this.#options
    const name = `${group.id}-m${++this.#number}`
    trace(`${name} joins`)
    this.present.push({ group, actor: new MemberActor(name, group, clients, chance.fork()) })
  }

  /** One more, or one less: it leaves, or dies. */
  change(): void {
    const { groups, chance } = this.#options
    if (groups.length === 0) return
    if (chance.maybe(0.4)) return this.#join(chance.pick(groups))
    if (this.present.length < 2) return
    const [{ actor }] = this.present.splice(chance.below(this.present.length), 1)
    if (chance.maybe(0.5)) return actor.kill()
    actor.close()
    this.#former.push(actor)
  }

  /** Who is not in a stable group, or waits for a commit; in words. */
  unfinished(): string[] {
    const late: string[] = []
    for (const { actor } of this.present) {
      const { name } = actor.process.env
      if (actor.status !== 'stable') late.push(`${name} is ${actor.status} ${actor.consumer.member.error ?? ''}`)
      if (!actor.isIdle) late.push(`${name} commits`)
    }
    return late
  }

  /** All leave. */
  close(): void {
    for (const { actor } of this.present) actor.close()
  }

  get areClosed(): boolean {
    return this.present.every(({ actor }) => actor.isClosed)
  }

  /** Of those who left and those who are there. */
  processes(): ClientProcess[] {
    return [...this.#former, ...this.present.map(({ actor }) => actor)].map(({ process }) => process)
  }
}
