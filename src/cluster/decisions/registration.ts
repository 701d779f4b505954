import type { ControllerMessages } from '../../broker/link.ts'
import type { DecisionContext } from '../controller.ts'

/** A broker tells where it listens, and gets the epoch by which its later messages are known (`ClusterControlManager`). */
export function registerBroker(
  request: ControllerMessages['registerBroker']['request'],
  context: DecisionContext,
): ControllerMessages['registerBroker']['reply'] {
  const brokerEpoch = context.nextOffset
  context.append({ type: 'registerBroker', ...request, brokerEpoch, fenced: false })
  return { brokerEpoch }
}

const BLOCK = 1000

/** A block of producer ids for one broker; no other ever gets one of them (`ProducerIdControlManager`). */
export function allocateProducerIds(
  { brokerId, brokerEpoch }: ControllerMessages['allocateProducerIds']['request'],
  { image, append }: DecisionContext,
): ControllerMessages['allocateProducerIds']['reply'] {
  if (image.brokers.get(brokerId)?.brokerEpoch !== brokerEpoch)
    return { error: 'STALE_BROKER_EPOCH', start: -1, length: 0 }
  const start = image.nextProducerId
  append({ type: 'producerIds', brokerId, brokerEpoch, nextProducerId: start + BLOCK })
  return { error: 'NONE', start, length: BLOCK }
}
