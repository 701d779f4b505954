/**
 * The package `ottla`: a Kafka broker in your Node process.
 */
export type {
  BrokerDescription,
  GroupDescription,
  GroupOffset,
  PartitionDescription,
  TopicDescription,
} from '../broker/describe.ts'
export type { FaultAction, FaultLimits, FaultRule, FaultTarget, HoldTarget } from '../broker/faults/fault-rule.ts'
export type { Limits } from '../broker/limits.ts'
export type { PlainFields, PlainValue } from '../broker/plain-fields.ts'
export type { RequestFilter, RequestLogRecord } from '../broker/request-log.ts'
export type { ActionEvent, BrokerEvent, ClusterEvent, IsrEvent, LeaderEvent, LostEvent } from '../cluster/timeline.ts'
export type { LogFields, LogLevel } from '../util/env.ts'
export type { AdvanceOptions, BrokerSnapshot } from './broker-methods.ts'
export type { ClusterOptions } from './cluster-options.ts'
export type { ClusterDescription, PlaceDescription } from './describe-cluster.ts'
export { OTTLA_ERRORS, OttlaError, type OttlaErrorCode } from './errors.ts'
export type { FaultHandle, Gate } from './fault-handles.ts'
export type { FaultsOnDemand, RequestFaults } from './faults-on-demand.ts'
export type { LogFunction, LoggerLike, LogOption } from './log.ts'
export type { BrokerOptions, Configs, TopicOption } from './options.ts'
export type { RunningBroker } from './running-broker.ts'
export type { ClusterBroker, ClusterLink, ClusterTopic, LinkEnd, RunningCluster } from './running-cluster.ts'
export { startBroker } from './start-broker.ts'
export { startCluster } from './start-cluster.ts'
