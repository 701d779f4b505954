import type { ControllerMessages } from '../../broker/link.ts'
import { RESOURCE_TYPE } from '../../broker/metadata/image.ts'
import type { MetadataRecord } from '../../broker/metadata/records.ts'
import type { DecisionContext } from '../decision-context.ts'

/** A broker tells where it listens, and gets the epoch by which its later messages are known (`ClusterControlManager`). */
export function registerBroker(
  request: ControllerMessages['registerBroker']['request'],
  context: DecisionContext,
): ControllerMessages['registerBroker']['reply'] {
  const brokerEpoch = context.nextOffset
  context.append({ type: 'registerBroker', ...request, brokerEpoch, fenced: false }, ...minIsrForAll(context))
  return { brokerEpoch }
}

const MIN_ISR = 'min.insync.replicas'

/**
 * A new cluster writes down the least in-sync replicas that it was started with, as a default for all brokers: eligible leader
 * replicas (KIP-966) need one that all agree on. So every topic shows it as set.
 */
function minIsrForAll({ image, config }: DecisionContext): MetadataRecord[] {
  if (image.brokers.size > 0 || image.configsOf(RESOURCE_TYPE.broker, '').has(MIN_ISR)) return []
  const value = config.text(MIN_ISR) as string
  return [{ type: 'config', resourceType: RESOURCE_TYPE.broker, resourceName: '', name: MIN_ISR, value }]
}

const BLOCK = 1000

/** A block of producer ids for one broker; no other ever gets one of them (`ProducerIdControlManager`). */
export function allocateProducerIds(
  { brokerId, brokerEpoch }: ControllerMessages['allocateProducerIds']['request'],
  { image, floor, append }: DecisionContext,
): ControllerMessages['allocateProducerIds']['reply'] {
  if (image.brokers.get(brokerId)?.brokerEpoch !== brokerEpoch)
    return { error: 'STALE_BROKER_EPOCH', start: -1, length: 0 }
  const start = Math.max(image.nextProducerId, floor.producerId)
  append({ type: 'producerIds', brokerId, brokerEpoch, nextProducerId: start + BLOCK })
  return { error: 'NONE', start, length: BLOCK }
}
