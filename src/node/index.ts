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
export type { Limits } from '../broker/limits.ts'
export type { RequestLogRecord } from '../broker/request-log.ts'
export type { LogFields, LogLevel } from '../util/env.ts'
export type { AdvanceOptions, BrokerSnapshot } from './broker-methods.ts'
export { OTTLA_ERRORS, OttlaError, type OttlaErrorCode } from './errors.ts'
export type { LogFunction, LoggerLike, LogOption } from './log.ts'
export type { BrokerOptions, Configs, TopicOption } from './options.ts'
export type { RunningBroker } from './running-broker.ts'
export { startBroker } from './start-broker.ts'
