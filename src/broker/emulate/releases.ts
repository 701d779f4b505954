import type { Handler } from '../handler.ts'
import { KAFKA_2_8 } from './kafka-2-8.ts'
import { KAFKA_3_6 } from './kafka-3-6.ts'
import { KAFKA_3_9 } from './kafka-3-9.ts'
import { KAFKA_4_0 } from './kafka-4-0.ts'
import type { Release, ReleasedFeature } from './release.ts'

/**
 * Earlier releases of Kafka, as a client sees them: which APIs they tell, in which versions, with which features, cut to what
 * Ottla serves. Only ranges are emulated, not the mistakes of a release; and versions that Kafka 4.0 took away (KIP-896) do
 * not come back, for Ottla never had them.
 */

/** KRaft from 3.3 on, where it became ready for production; 2.8 is asked as what nearly all of its brokers were, with ZooKeeper. */
export const RELEASES = {
  '2.8': KAFKA_2_8,
  '3.6': KAFKA_3_6,
  '3.9': KAFKA_3_9,
  '4.0': KAFKA_4_0,
} as const satisfies Record<string, Release>

/** A release that can be emulated. */
export type EmulatedRelease = keyof typeof RELEASES

/**
 * Features of which Ottla serves more than level 0, which is as good as none. `metadata.version` tells the release and asks
 * nothing of clients; the others would make them speak protocols that are not there.
 */
const SERVED_FEATURES: readonly string[] = ['metadata.version']

/** The handlers that `release` would have as well, each in the versions that both serve. */
export function handlersOf(handlers: readonly Handler[], release: EmulatedRelease): Handler[] {
  const ranges = new Map<number, readonly [number, number]>(RELEASES[release].apis.map(api => [api.key, api.versions]))
  return handlers.flatMap(handler => {
    const range = ranges.get(handler.api.key)
    if (range === undefined) return []
    const [min, max] = range
    const versions = [Math.max(min, handler.versions[0]), Math.min(max, handler.versions[1])] as const
    if (versions[0] > versions[1]) return []
    return [{ ...handler, versions, advertisedMin: Math.max(min, handler.advertisedMin) }]
  })
}

/** The features of `release` that Ottla serves. */
export function featuresOf(release: EmulatedRelease): readonly ReleasedFeature[] {
  const features: readonly ReleasedFeature[] = RELEASES[release].features
  return features.filter(({ name }) => SERVED_FEATURES.includes(name))
}
