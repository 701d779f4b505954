import type { ControllerMessages } from '../../broker/link.ts'
import { type BrokerImage, RESOURCE_TYPE } from '../../broker/metadata/image.ts'
import type { MetadataRecord } from '../../broker/metadata/records.ts'
import { ERROR_CODES } from '../../protocol/errors.ts'
import type { DecisionContext } from '../decision-context.ts'
import { admitBroker, distrustBroker, withdrawBroker } from './broker-changes.ts'
import { NO_LEADER } from './partition-change.ts'
import { raiseLeaderEpochs } from './raise-leader-epochs.ts'

/**
 * How brokers come and go (`ClusterControlManager`, `BrokerHeartbeatManager`): they register, are let in once they have caught up
 * with the metadata, are fenced when nothing is heard of them, and are let go when nothing is led by them any more.
 */

type Registration = ControllerMessages['registerBroker']['request']
type Heartbeat = ControllerMessages['brokerHeartbeat']['request']

/** A broker tells where it listens, and gets the epoch by which its later messages are known. */
export function registerBroker(
  request: Registration,
  context: DecisionContext,
): ControllerMessages['registerBroker']['reply'] {
  const { brokerId, incarnationId, sendsHeartbeats, previousBrokerEpoch, ...address } = request
  const known = context.image.brokers.get(brokerId)
  const isWhole = previousBrokerEpoch === 'same'
  if (known !== undefined && known.incarnationId !== incarnationId) {
    // Another process under the same id, of which it is not known that it is gone.
    if (context.sessions.isAlive(brokerId)) return { error: 'DUPLICATE_BROKER_REGISTRATION', brokerEpoch: -1 }
    const isClean = isWhole || previousBrokerEpoch === known.brokerEpoch
    // Alone it leads whatever it has lost; by the epochs clients see that there was an election.
    if (!sendsHeartbeats && !isClean) raiseLeaderEpochs({ topic: null, partition: -1, atLeast: 0 }, context)
    else if (!isClean) distrustBroker(brokerId, context)
    else if (sendsHeartbeats && !isWhole) withdrawBroker(brokerId, context)
  }
  // A new registration says nothing of replicas that failed: the broker tries its disk anew, and tells again what it finds.
  // The records of this decision are one batch: the offset of this one is the epoch.
  const brokerEpoch = context.nextOffset + context.appended
  // Where everybody was put back to the same moment, who was in then still is.
  const fenced = sendsHeartbeats && !(isWhole && known?.fenced === false)
  context.append(
    { type: 'registerBroker', brokerId, ...address, incarnationId, brokerEpoch, fenced },
    ...minIsrForAll(context),
  )
  if (sendsHeartbeats) {
    context.sessions.touch(brokerId)
  } else {
    context.sessions.end(brokerId)
    admitBroker(brokerId, context, { isRestarted: true })
  }
  return { error: 'NONE', brokerEpoch }
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

/** A broker says that it lives, how much it knows, and whether it wants to go. */
export function brokerHeartbeat(
  { brokerId, brokerEpoch, metadataOffset, wantShutDown }: Heartbeat,
  context: DecisionContext,
): ControllerMessages['brokerHeartbeat']['reply'] {
  const broker = context.image.brokers.get(brokerId)
  if (broker === undefined) return { error: 'BROKER_ID_NOT_REGISTERED', isFenced: true, shouldShutDown: false }
  if (broker.brokerEpoch !== brokerEpoch) return { error: 'STALE_BROKER_EPOCH', isFenced: true, shouldShutDown: false }
  if (wantShutDown) return shutDown(broker, context)
  context.sessions.touch(brokerId)
  if (!broker.fenced) return { error: 'NONE', isFenced: false, shouldShutDown: false }
  // It has to know at least that it was registered: before, it would act on what was so long ago.
  const isFenced = metadataOffset <= brokerEpoch
  if (!isFenced) {
    context.append(change(broker, { fenced: false }))
    admitBroker(brokerId, context)
  }
  return { error: 'NONE', isFenced, shouldShutDown: false }
}

/** Leadership moves away first; once nothing is left the broker is fenced, and may go. */
function shutDown(broker: BrokerImage, context: DecisionContext): ControllerMessages['brokerHeartbeat']['reply'] {
  const { brokerId } = broker
  context.sessions.touch(brokerId)
  if (!broker.fenced && !broker.inControlledShutdown) {
    context.append(change(broker, { inControlledShutdown: true }))
    withdrawBroker(brokerId, context)
    return { error: 'NONE', isFenced: false, shouldShutDown: false }
  }
  if (leads(brokerId, context)) return { error: 'NONE', isFenced: broker.fenced, shouldShutDown: false }
  context.sessions.end(brokerId)
  if (!broker.fenced) context.append(change(broker, { fenced: true }))
  return { error: 'NONE', isFenced: true, shouldShutDown: true }
}

function leads(brokerId: number, { image }: DecisionContext): boolean {
  for (const { partitions } of image.topicsByName.values()) {
    if (partitions.some(({ leader }) => leader !== NO_LEADER && leader === brokerId)) return true
  }
  return false
}

function change(broker: BrokerImage, to: { fenced?: boolean; inControlledShutdown?: boolean }): MetadataRecord {
  const { brokerId, brokerEpoch, fenced, inControlledShutdown } = broker
  return { type: 'brokerChange', brokerId, brokerEpoch, fenced, inControlledShutdown, ...to }
}

/** Nothing was heard of a broker for too long. */
export function fenceBroker(
  { brokerId }: ControllerMessages['fenceBroker']['request'],
  context: DecisionContext,
): ControllerMessages['fenceBroker']['reply'] {
  const broker = context.image.brokers.get(brokerId)
  if (broker === undefined || broker.fenced) return {}
  context.env.log('info', 'fencing a broker that sends no heartbeats', { broker: brokerId })
  context.append(change(broker, { fenced: true }))
  withdrawBroker(brokerId, context)
  return {}
}

/** An admin says that a broker will not come back. */
export function unregisterBroker(
  { request: { brokerId } }: ControllerMessages['unregisterBroker']['request'],
  context: DecisionContext,
): ControllerMessages['unregisterBroker']['reply'] {
  const broker = context.image.brokers.get(brokerId)
  if (broker === undefined) {
    const errorMessage = `Broker ID ${brokerId} is not currently registered`
    return { errorCode: ERROR_CODES.BROKER_ID_NOT_REGISTERED, errorMessage }
  }
  context.sessions.end(brokerId)
  withdrawBroker(brokerId, context)
  context.append({ type: 'unregisterBroker', brokerId, brokerEpoch: broker.brokerEpoch })
  return { errorCode: 0, errorMessage: null }
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
