import { api, array, bool, int16, int32, int64, string, struct } from '../dsl.ts'

/**
 * Tells which APIs and versions the broker speaks; the first question of every client. Version 3 is flexible, hears
 * who the client is (KIP-511) and tells the features of the cluster (KIP-584), 4 allows features from level 0 on, 5
 * names the broker that is meant (KIP-1242). The answer has the oldest header in every version.
 */
export const apiVersions = api({
  key: 18,
  name: 'ApiVersions',
  versions: [0, 5],
  flexible: 3,
  request: struct({
    clientSoftwareName: string().since(3).ignorable(),
    clientSoftwareVersion: string().since(3).ignorable(),
    // Who is meant (KIP-1242): a broker that is someone else says so.
    clusterId: string().since(5).nullable(5).default(null).ignorable(),
    nodeId: int32().since(5).default(-1).ignorable(),
  }),
  response: struct({
    errorCode: int16(),
    apiKeys: array(
      struct({
        apiKey: int16(),
        minVersion: int16(),
        maxVersion: int16(),
      }),
    ),
    throttleTimeMs: int32().since(1).ignorable(),
    supportedFeatures: array(
      struct({
        name: string(),
        minVersion: int16(),
        maxVersion: int16(),
      }),
    )
      .tagged(0, 3)
      .ignorable(),
    // -1: unknown.
    finalizedFeaturesEpoch: int64().tagged(1, 3).default(-1).ignorable(),
    finalizedFeatures: array(
      struct({
        name: string(),
        maxVersionLevel: int16(),
        minVersionLevel: int16(),
      }),
    )
      .tagged(2, 3)
      .ignorable(),
    zkMigrationReady: bool().tagged(3, 3).ignorable(),
  }),
})
