/**
 * What the model knows and the broker does not do yet, by name. Each has a probe that looks whether it does; one whose probe
 * succeeds fails its test: then it goes from this list, and its acts go into the histories. The list only gets shorter.
 */

import { World } from './world.ts'

export interface Pending {
  /** What is missing. */
  name: string
  /** What the histories get when it is there. */
  histories: string
  /** Whether it is there. */
  isThere: () => boolean
}

const CONSUMER_GROUP_HEARTBEAT = 68

export const PENDING: readonly Pending[] = [
  {
    name: 'groups of the consumer protocol (KIP-848)',
    histories: 'the histories of groups with members of either protocol',
    isThere: () => new World([]).cluster.broker(1).handlers.has(CONSUMER_GROUP_HEARTBEAT),
  },
]
