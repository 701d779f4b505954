import { apiVersions } from '../../protocol/apis/api-versions.ts'
import type { Api } from '../../protocol/dsl.ts'
import { ERROR_CODES, KafkaError } from '../../protocol/errors.ts'
import { encodeResponse } from '../../protocol/frame.ts'
import { handler } from '../handler.ts'

/**
 * The first request of every client: which APIs are served, in which versions. It tells exactly what the handler list has;
 * the one exception is Produce, told from version 0 on, or old librdkafka silently stops compressing.
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
        .map(({ api, advertisedMin }) => ({
          apiKey: api.key,
          minVersion: advertisedMin,
          maxVersion: api.versions[1],
        })),
      finalizedFeaturesEpoch: 0,
    }
  },
  {
    differs: [
      'No feature is finalized, so clients use the first version of the transaction protocol and classic groups.',
    ],
    refuse: (_request, error) => ({ errorCode: error.code }),
  },
)

/**
 * The answer to a version that is not served. Only ApiVersions has one, in the layout of version 0, and it names ApiVersions
 * alone, so that the client can ask again lower (KIP-511). For all others the connection is closed.
 */
export function refuseVersion(api: Api, correlationId: number): Uint8Array[] | undefined {
  if (api.key !== apiVersions.key) return undefined
  const [minVersion, maxVersion] = apiVersions.versions
  return encodeResponse(apiVersions, 0, correlationId, {
    errorCode: ERROR_CODES.UNSUPPORTED_VERSION,
    apiKeys: [{ apiKey: apiVersions.key, minVersion, maxVersion }],
  })
}
