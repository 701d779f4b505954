import { ERROR_CODES } from '../../protocol/errors.ts'
import type { Broker } from '../broker.ts'

/**
 * Tells a client that asked the wrong broker who leads (KIP-951), so that it need not ask for metadata first.
 */
export function leaderHint(broker: Broker) {
  const named = new Set<number>()
  return {
    /** The leader to name beside `errorCode`, or undefined. */
    of(errorCode: number, topicId: string | undefined, partition: number) {
      if (errorCode !== ERROR_CODES.NOT_LEADER_OR_FOLLOWER && errorCode !== ERROR_CODES.FENCED_LEADER_EPOCH)
        return undefined
      const image = topicId === undefined ? undefined : broker.image.topicsById.get(topicId)?.partitions[partition]
      if (image === undefined) return undefined
      // That nobody leads is told, too.
      if (image.leader >= 0) named.add(image.leader)
      return { leaderId: image.leader, leaderEpoch: image.leaderEpoch }
    },
    /** Where the leaders that were named can be reached. */
    endpoints() {
      return [...named].flatMap(nodeId => {
        const found = broker.image.brokers.get(nodeId)
        return found === undefined ? [] : [{ nodeId, host: found.host, port: found.port, rack: found.rack }]
      })
    },
  }
}
