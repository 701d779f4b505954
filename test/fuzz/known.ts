import type { Difference } from './compare.ts'
import type { Step } from './sequence.ts'

/**
 * Differences that are meant, or that are dice on Kafka's side: a sequence that ends in one counts neither as clean nor as
 * found. Each that is meant stands in docs/differences.md, too.
 */
export interface Known {
  readonly why: string
  is(difference: Difference, steps: readonly Step[]): boolean
}

export const KNOWN: readonly Known[] = [
  {
    why: 'the next leader of a group whose leader left is the first of a hash map of random ids',
    is: ({ index, path }, steps) =>
      apiOf(steps[index]) === 'JoinGroup' &&
      /leader|members/.test(path) &&
      steps.slice(0, index).some(step => ['LeaveGroup', 'DeleteGroups'].includes(apiOf(step))),
  },
]

function apiOf(step: Step): string {
  return step.kind === 'request' ? step.api.name : ''
}
