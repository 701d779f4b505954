import type { ControllerMessages } from '../../broker/link.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'

/** Feature levels (`FeatureControlManager`). None has a level here yet, so none can be changed. */

type Message = ControllerMessages['updateFeatures']['request']
type Reply = ControllerMessages['updateFeatures']['reply']

export function updateFeaturesDecision({ request }: Message): Reply {
  const [first] = request.featureUpdates
  if (first === undefined) return { errorMessage: null }
  const { feature, maxVersionLevel } = first
  const errorMessage =
    `The update failed for all features since the following feature had an error: ` +
    `Invalid update version ${maxVersionLevel} for feature ${feature}. The controller does not support this feature.`
  return { errorCode: ERROR_CODES.INVALID_UPDATE_VERSION, errorMessage }
}
