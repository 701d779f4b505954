/** What a release tells of itself, recorded from it (`test/conformance/releases`). */
export interface Release {
  /** The release that was asked. */
  readonly version: string
  /** As whom its broker was asked: with a quorum of controllers (KRaft), or with ZooKeeper. */
  readonly listener: 'broker' | 'zkBroker'
  readonly apis: readonly ReleasedApi[]
  readonly features: readonly ReleasedFeature[]
}

interface ReleasedApi {
  readonly key: number
  readonly name: string
  /** The lowest and the highest that it tells. */
  readonly versions: readonly [min: number, max: number]
}

export interface ReleasedFeature {
  readonly name: string
  readonly supported: readonly [min: number, max: number]
  /** The level that a new cluster begins with; 0 is not told. */
  readonly finalized: number
}
