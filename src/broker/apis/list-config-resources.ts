import { listConfigResources } from '../../protocol/apis/list-config-resources.ts'
import { KafkaError } from '../../protocol/errors.ts'
import { handler, type RequestContext } from '../handler.ts'
import { RESOURCE_TYPE } from '../metadata/image.ts'

/** The things that have configs, by kind (KIP-1142). */
export const listConfigResourcesHandler = handler(
  listConfigResources,
  (request, context) => {
    const all: readonly number[] = Object.values(RESOURCE_TYPE)
    const { clientMetrics } = RESOURCE_TYPE
    const asked = context.apiVersion === 0 ? [clientMetrics] : request.resourceTypes
    const types = asked.length === 0 ? all : [...new Set(asked)]
    if (types.some(type => !all.includes(type))) throw new KafkaError('UNSUPPORTED_VERSION')
    return {
      configResources: types.flatMap(resourceType =>
        namesOf(resourceType, context).map(resourceName => ({ resourceName, resourceType })),
      ),
    }
  },
  { refuse: (_request, error) => ({ errorCode: error.code }) },
)

function namesOf(resourceType: number, { broker }: RequestContext): string[] {
  const { image } = broker
  if (resourceType === RESOURCE_TYPE.topic) return [...image.topicsByName.keys()]
  if (resourceType === RESOURCE_TYPE.broker || resourceType === RESOURCE_TYPE.brokerLogger) {
    return [...image.brokers.keys()].map(String)
  }
  return image.configuredResources(resourceType)
}
