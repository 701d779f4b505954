// One consumer group of a topic: its members, who has which partition, positions and committed offsets. Its topic has checked the
// arguments. Follows the classic group: every change of membership is a rebalance, and only its result is kept here.

import type { Assignment, AssignorName } from './assign.ts'
import { checkCount } from './check.ts'
import { NotAssignedError } from './errors.ts'
import { settledAssignment } from './movement.ts'

export type Rebalance = 'eager' | 'cooperative'

export class Group {
  readonly #numPartitions: number
  readonly #assignor: AssignorName
  readonly #rebalance: Rebalance
  #assignment: Assignment = new Map()
  /** Per assigned partition: the offset its owner reads next. */
  #positions = new Map<number, number>()
  readonly #committed = new Map<number, number>()

  constructor(numPartitions: number, assignor: AssignorName, rebalance: Rebalance) {
    this.#numPartitions = numPartitions
    this.#assignor = assignor
    this.#rebalance = rebalance
  }

  get isEmpty(): boolean {
    return this.#assignment.size === 0
  }

  join(consumerId: string): void {
    if (!this.#assignment.has(consumerId)) this.#shareAmong([...this.#assignment.keys(), consumerId])
  }

  leave(consumerId: string): void {
    if (!this.#assignment.has(consumerId)) return
    this.#shareAmong([...this.#assignment.keys()].filter(member => member !== consumerId))
  }

  #shareAmong(members: string[]): void {
    const before = this.#assignment
    const after = settledAssignment(members, this.#numPartitions, this.#assignor, before)
    const positions = new Map<number, number>()
    for (const [member, partitions] of after) {
      for (const partition of partitions) {
        const keeps = this.#rebalance === 'cooperative' && before.get(member)?.includes(partition)
        positions.set(partition, keeps ? this.position(partition) : this.committed(partition))
      }
    }
    this.#assignment = after
    this.#positions = positions
  }

  assignment(consumerId: string): readonly number[] {
    return this.#assignment.get(consumerId) ?? []
  }

  position(partition: number): number {
    return this.#positions.get(partition)!
  }

  moveTo(partition: number, position: number): void {
    this.#positions.set(partition, position)
  }

  committed(partition: number): number {
    return this.#committed.get(partition) ?? 0
  }

  commitPositions(consumerId: string): void {
    this.store(new Map(this.assignment(consumerId).map(partition => [partition, this.position(partition)])))
  }

  /** All or nothing. A partition arrives as a string, and only the text of one that the consumer has will do: `'01'` is none. */
  commit(group: string, consumerId: string, offsets: Readonly<Record<string, number>>): void {
    const own = new Map(this.assignment(consumerId).map(partition => [String(partition), partition]))
    const checked = new Map<number, number>()
    for (const [text, offset] of Object.entries(offsets)) {
      const partition = own.get(text)
      if (partition === undefined) throw new NotAssignedError(group, consumerId, text)
      checked.set(partition, checkCount('offset', offset))
    }
    this.store(checked)
  }

  store(offsets: ReadonlyMap<number, number>): void {
    for (const [partition, offset] of offsets) this.#committed.set(partition, offset)
  }
}
