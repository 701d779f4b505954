import { api, array, bool, int8, int16, int32, string, struct } from '../dsl.ts'

/**
 * Sets the finalized levels of features (KIP-584). Version 1 can try without doing and says how far a downgrade may go
 * (KIP-778), 2 answers for all features at once.
 */
export const updateFeatures = api({
  key: 57,
  name: 'UpdateFeatures',
  versions: [0, 2],
  flexible: 0,
  request: struct({
    timeoutMs: int32().default(60000),
    featureUpdates: array(
      struct({
        feature: string(),
        // 0 takes the feature away.
        maxVersionLevel: int16(),
        allowDowngrade: bool().until(0),
        // 1: upgrade, 2: safe downgrade, 3: unsafe downgrade.
        upgradeType: int8().since(1).default(1),
      }),
    ),
    validateOnly: bool().since(1),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16(),
    errorMessage: string().nullable(),
    results: array(
      struct({
        feature: string(),
        errorCode: int16(),
        errorMessage: string().nullable(),
      }),
    )
      .until(1)
      .ignorable(),
  }),
})
