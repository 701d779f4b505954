import { updateFeatures } from '../../protocol/apis/update-features.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** Raises and lowers feature levels. The controller decides (`cluster/`). */
export const updateFeaturesHandler = handler(
  updateFeatures,
  (request, context) => forward('updateFeatures', request, context),
  {
    differs: ['No feature has a level yet, so every update is refused with INVALID_UPDATE_VERSION.'],
  },
)
