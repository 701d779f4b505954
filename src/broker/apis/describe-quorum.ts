import { describeQuorum } from '../../protocol/apis/describe-quorum.ts'
import { forward } from '../forward.ts'
import { handler } from '../handler.ts'

/** The quorum of controllers (KIP-595). The controller says who it is. */
export const describeQuorumHandler = handler(
  describeQuorum,
  (request, context) => forward('describeQuorum', request, context),
  {
    differs: [
      'There is one controller, the only voter: in a cluster of one told under the id of the broker, in one of several under an id of its own and without an address.',
    ],
  },
)
