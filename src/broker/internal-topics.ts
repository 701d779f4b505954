/** The topics that the broker keeps for itself; clients may read them, not write them. */
export const CONSUMER_OFFSETS = '__consumer_offsets'

const INTERNAL_TOPICS: ReadonlySet<string> = new Set([CONSUMER_OFFSETS, '__transaction_state', '__share_group_state'])

export function isInternalTopic(name: string): boolean {
  return INTERNAL_TOPICS.has(name)
}
