/**
 * `ottla/testing`: a broker, or a cluster, for tests, under vitest, node:test and jest. Topics and groups that can be asked and waited for, faults,
 * gates, time that tests move, and a state that is put back in about a millisecond.
 */
export type { GroupView, MemberView, PartitionLag } from '../broker/group-view.ts'
export { attachBroker } from '../node/remote.ts'
export { type GlobalBroker, globalBroker, sharedBroker } from './global-broker.ts'
export { matchers, type OttlaMatchers } from './matchers.ts'
export { bytes, json, type Serde, string } from './serdes.ts'
export { attachTestBroker, startTestBroker, TestBroker } from './test-broker.ts'
export { startTestCluster, TestCluster } from './test-cluster.ts'
export { TestGroup } from './test-group.ts'
export { type TestRecord, type TestRecordInput, TestTopic, type TopicSerdes } from './test-topic.ts'
export { type BrokerInUse, type UseBrokerOptions, useBroker } from './use-broker.ts'
export { type ClusterInUse, type UseClusterOptions, useCluster } from './use-cluster.ts'
export type { Hooks, Isolation } from './use-in-tests.ts'
