import { apiVersions } from '../../protocol/apis/api-versions.ts'
import { ERROR_CODES, KafkaError } from '../../protocol/errors.ts'
import { encodeResponse } from '../../protocol/frame.ts'
import { type EmulatedRelease, featuresOf } from '../emulate/releases.ts'
import { type Handler, handler } from '../handler.ts'

/**
 * The first request of every client: which APIs are served, in which versions. It tells exactly what the handler list has;
 * the one exception is Produce, told from version 0 on, or old librdkafka silently stops compressing. Where an earlier Kafka is
 * emulated, its features are told too.
 */

const SOFTWARE = /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/

export const apiVersionsHandler = handler(
  apiVersions,
  (request, { apiVersion, broker }) => {
    const { clientSoftwareName, clientSoftwareVersion, clusterId, nodeId } = request
    if (apiVersion >= 3 && !(SOFTWARE.test(clientSoftwareName) && SOFTWARE.test(clientSoftwareVersion))) {
      throw new KafkaError('INVALID_REQUEST')
    }
    if (apiVersion >= 5) {
      if ((clusterId === null) !== (nodeId === -1)) throw new KafkaError('INVALID_REQUEST')
      if (clusterId !== null && (clusterId !== broker.clusterId || nodeId !== broker.id)) {
        throw new KafkaError('REBOOTSTRAP_REQUIRED')
      }
    }
    return {
      apiKeys: [...broker.handlers.values()]
        .filter(({ listed }) => listed)
        .map(({ api, advertisedMin, versions }) => ({
          apiKey: api.key,
          minVersion: advertisedMin,
          maxVersion: versions[1],
        })),
      finalizedFeaturesEpoch: 0,
      ...(broker.emulates && features(broker.emulates, apiVersion)),
    }
  },
  {
    differs: [
      'No feature is finalized, so clients use the first version of the transaction protocol and classic groups.',
    ],
    refuse: (_request, error) => ({ errorCode: error.code }),
  },
)

/** Clients that ask in a version below 4 do not take a feature whose range begins with 0, so it is not told. */
function features(release: EmulatedRelease, apiVersion: number) {
  const told = featuresOf(release)
  const supported = apiVersion < 4 ? told.filter(feature => feature.supported[0] > 0) : told
  return {
    supportedFeatures: supported.map(({ name, supported: [minVersion, maxVersion] }) => ({
      name,
      minVersion,
      maxVersion,
    })),
    finalizedFeatures: told
      .filter(({ finalized }) => finalized > 0)
      .map(({ name, finalized }) => ({ name, maxVersionLevel: finalized, minVersionLevel: finalized })),
  }
}

/**
 * The answer to a version that is not served. Only ApiVersions has one, in the layout of version 0, and it names ApiVersions
 * alone, so that the client can ask again lower (KIP-511). For all others the connection is closed.
 */
export function refuseVersion({ api, versions }: Handler, correlationId: number): Uint8Array[] | undefined {
  if (api.key !== apiVersions.key) return undefined
  const [minVersion, maxVersion] = versions
  return encodeResponse(apiVersions, 0, correlationId, {
    errorCode: ERROR_CODES.UNSUPPORTED_VERSION,
    apiKeys: [{ apiKey: apiVersions.key, minVersion, maxVersion }],
  })
}
