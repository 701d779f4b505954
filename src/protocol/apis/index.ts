import type { Api } from '../dsl.ts'
import { alterClientQuotas } from './alter-client-quotas.ts'
import { alterConfigs } from './alter-configs.ts'
import { alterPartitionReassignments } from './alter-partition-reassignments.ts'
import { alterReplicaLogDirs } from './alter-replica-log-dirs.ts'
import { alterUserScramCredentials } from './alter-user-scram-credentials.ts'
import { apiVersions } from './api-versions.ts'
import { createAcls } from './create-acls.ts'
import { createDelegationToken } from './create-delegation-token.ts'
import { createPartitions } from './create-partitions.ts'
import { createTopics } from './create-topics.ts'
import { deleteAcls } from './delete-acls.ts'
import { deleteGroups } from './delete-groups.ts'
import { deleteRecords } from './delete-records.ts'
import { deleteTopics } from './delete-topics.ts'
import { describeAcls } from './describe-acls.ts'
import { describeClientQuotas } from './describe-client-quotas.ts'
import { describeCluster } from './describe-cluster.ts'
import { describeConfigs } from './describe-configs.ts'
import { describeDelegationToken } from './describe-delegation-token.ts'
import { describeGroups } from './describe-groups.ts'
import { describeLogDirs } from './describe-log-dirs.ts'
import { describeProducers } from './describe-producers.ts'
import { describeQuorum } from './describe-quorum.ts'
import { describeTopicPartitions } from './describe-topic-partitions.ts'
import { describeUserScramCredentials } from './describe-user-scram-credentials.ts'
import { electLeaders } from './elect-leaders.ts'
import { expireDelegationToken } from './expire-delegation-token.ts'
import { fetch } from './fetch.ts'
import { findCoordinator } from './find-coordinator.ts'
import { getTelemetrySubscriptions } from './get-telemetry-subscriptions.ts'
import { heartbeat } from './heartbeat.ts'
import { incrementalAlterConfigs } from './incremental-alter-configs.ts'
import { initProducerId } from './init-producer-id.ts'
import { joinGroup } from './join-group.ts'
import { leaveGroup } from './leave-group.ts'
import { listConfigResources } from './list-config-resources.ts'
import { listGroups } from './list-groups.ts'
import { listOffsets } from './list-offsets.ts'
import { listPartitionReassignments } from './list-partition-reassignments.ts'
import { metadata } from './metadata.ts'
import { offsetCommit } from './offset-commit.ts'
import { offsetDelete } from './offset-delete.ts'
import { offsetFetch } from './offset-fetch.ts'
import { offsetForLeaderEpoch } from './offset-for-leader-epoch.ts'
import { produce } from './produce.ts'
import { pushTelemetry } from './push-telemetry.ts'
import { renewDelegationToken } from './renew-delegation-token.ts'
import { saslAuthenticate } from './sasl-authenticate.ts'
import { saslHandshake } from './sasl-handshake.ts'
import { syncGroup } from './sync-group.ts'
import { unregisterBroker } from './unregister-broker.ts'
import { updateFeatures } from './update-features.ts'

/**
 * The list of all APIs that this code speaks, in the order of their keys. An API that is not here does not exist for
 * broker and client. One imported by its name keeps its exact type; out of the list it is an {@link Api} of any fields.
 */
export const APIS: readonly Api[] = [
  produce,
  fetch,
  listOffsets,
  metadata,
  offsetCommit,
  offsetFetch,
  findCoordinator,
  joinGroup,
  heartbeat,
  leaveGroup,
  syncGroup,
  describeGroups,
  listGroups,
  saslHandshake,
  apiVersions,
  createTopics,
  deleteTopics,
  deleteRecords,
  initProducerId,
  offsetForLeaderEpoch,
  describeAcls,
  createAcls,
  deleteAcls,
  describeConfigs,
  alterConfigs,
  alterReplicaLogDirs,
  describeLogDirs,
  saslAuthenticate,
  createPartitions,
  createDelegationToken,
  renewDelegationToken,
  expireDelegationToken,
  describeDelegationToken,
  deleteGroups,
  electLeaders,
  incrementalAlterConfigs,
  alterPartitionReassignments,
  listPartitionReassignments,
  offsetDelete,
  describeClientQuotas,
  alterClientQuotas,
  describeUserScramCredentials,
  alterUserScramCredentials,
  describeQuorum,
  updateFeatures,
  describeCluster,
  describeProducers,
  unregisterBroker,
  getTelemetrySubscriptions,
  pushTelemetry,
  listConfigResources,
  describeTopicPartitions,
]

const BY_KEY = new Map(APIS.map(api => [api.key, api]))

/** The API with this key, or undefined. */
export function apiByKey(key: number): Api | undefined {
  return BY_KEY.get(key)
}

export {
  alterClientQuotas,
  alterConfigs,
  alterPartitionReassignments,
  alterReplicaLogDirs,
  alterUserScramCredentials,
  apiVersions,
  createAcls,
  createDelegationToken,
  createPartitions,
  createTopics,
  deleteAcls,
  deleteGroups,
  deleteRecords,
  deleteTopics,
  describeAcls,
  describeClientQuotas,
  describeCluster,
  describeConfigs,
  describeDelegationToken,
  describeGroups,
  describeLogDirs,
  describeProducers,
  describeQuorum,
  describeTopicPartitions,
  describeUserScramCredentials,
  electLeaders,
  expireDelegationToken,
  fetch,
  findCoordinator,
  getTelemetrySubscriptions,
  heartbeat,
  incrementalAlterConfigs,
  initProducerId,
  joinGroup,
  leaveGroup,
  listConfigResources,
  listGroups,
  listOffsets,
  listPartitionReassignments,
  metadata,
  offsetCommit,
  offsetDelete,
  offsetFetch,
  offsetForLeaderEpoch,
  produce,
  pushTelemetry,
  renewDelegationToken,
  saslAuthenticate,
  saslHandshake,
  syncGroup,
  unregisterBroker,
  updateFeatures,
}
