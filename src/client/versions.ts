/**
 * Which version of each API to speak with one broker: the highest that both sides know, never above what is pinned.
 * Follows NodeApiVersions. A broker may list an API in a range that we do not reach; then it counts as absent.
 */

import type { Api } from '../protocol/dsl.ts'

/** Highest version to speak per API, by Kafka's name of it: `{ Fetch: 12 }`. */
export type MaxVersions = Readonly<Record<string, number>>

export interface VersionRange {
  apiKey: number
  minVersion: number
  maxVersion: number
}

/** The highest version of `api` that this side may speak. */
export function ownMaxVersion(api: Api, pins: MaxVersions): number {
  return Math.min(api.versions[1], pins[api.name] ?? api.versions[1])
}

export class Versions {
  readonly #ranges: ReadonlyMap<number, VersionRange>
  readonly #pins: MaxVersions

  constructor(ranges: readonly VersionRange[], pins: MaxVersions) {
    this.#ranges = new Map(ranges.map(range => [range.apiKey, range]))
    this.#pins = pins
  }

  /** The version to speak, or undefined when there is none in common. */
  of(api: Api): number | undefined {
    const range = this.#ranges.get(api.key)
    if (range === undefined) return undefined
    const version = Math.min(range.maxVersion, ownMaxVersion(api, this.#pins))
    return version >= Math.max(range.minVersion, api.versions[0]) ? version : undefined
  }
}
