import type { Json } from '../twin/json.ts'
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

/** Metadata that no broker stores. */
const LARGE = /x{4097}/

export const KNOWN: readonly Known[] = [
  {
    why: 'the next leader of a group whose leader left is the first of a hash map of random ids',
    is: ({ index, path }, steps) =>
      apiOf(steps[index]) === 'JoinGroup' &&
      /leader|members/.test(path) &&
      steps.some(step => ['LeaveGroup', 'DeleteGroups'].includes(apiOf(step))),
  },
  {
    why: 'an accident inside Kafka, which answers UNKNOWN_SERVER_ERROR',
    is: ({ kafka }) => kafka === 'UNKNOWN_SERVER_ERROR',
  },
  {
    why: 'Kafka counts records that DeleteRecords took away for the maximum timestamp',
    is: ({ index }, steps) =>
      apiOf(steps[index]) === 'ListOffsets' &&
      JSON.stringify(bodyOf(steps[index])).includes('"timestamp":-3') &&
      steps.slice(0, index).some(step => apiOf(step) === 'DeleteRecords'),
  },
  {
    why: 'Kafka never answers AlterConfigs that names a resource twice',
    is: ({ index, kafka }, steps) => apiOf(steps[index]) === 'AlterConfigs' && kafka === 'waiting',
  },
  {
    why: 'a commit of which nothing is stored makes a group in Kafka that only some requests see',
    is: ({ index }, steps) =>
      /Group|Offset(Commit|Fetch|Delete)|Heartbeat/.test(apiOf(steps[index])) &&
      steps.slice(0, index).some(step => apiOf(step) === 'OffsetCommit' && LARGE.test(JSON.stringify(bodyOf(step)))),
  },
  {
    why: 'what the broker compresses itself has another size by a few bytes, since zlib and Java are not the same',
    is: ({ index, path }, steps) =>
      apiOf(steps[index]) === 'DescribeLogDirs' &&
      path.endsWith('partitionSize') &&
      steps.some(step => JSON.stringify(bodyOf(step)).includes('compression.type')),
  },
  {
    why: 'APIs and features that Ottla does not have yet',
    is: ({ index, path }, steps) => apiOf(steps[index]) === 'ApiVersions' && /apiKeys|eatures/.test(path),
  },
]

function bodyOf(step: Step): Json {
  return step.kind === 'request' ? step.body : null
}

function apiOf(step: Step): string {
  return step.kind === 'request' ? step.api.name : ''
}
