import type { Api } from '../dsl.ts'
import { alterClientQuotas } from './alter-client-quotas.ts'
import { alterConfigs } from './alter-configs.ts'
import { apiVersions } from './api-versions.ts'
import { createPartitions } from './create-partitions.ts'
import { createTopics } from './create-topics.ts'
import { deleteGroups } from './delete-groups.ts'
import { deleteRecords } from './delete-records.ts'
import { deleteTopics } from './delete-topics.ts'
import { describeClientQuotas } from './describe-client-quotas.ts'
import { describeCluster } from './describe-cluster.ts'
import { describeConfigs } from './describe-configs.ts'
import { describeGroups } from './describe-groups.ts'
import { describeLogDirs } from './describe-log-dirs.ts'
import { describeProducers } from './describe-producers.ts'
import { describeQuorum } from './describe-quorum.ts'
import { describeTopicPartitions } from './describe-topic-partitions.ts'
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
import { metadata } from './metadata.ts'
import { offsetCommit } from './offset-commit.ts'
import { offsetDelete } from './offset-delete.ts'
import { offsetFetch } from './offset-fetch.ts'
import { offsetForLeaderEpoch } from './offset-for-leader-epoch.ts'
import { produce } from './produce.ts'
import { pushTelemetry } from './push-telemetry.ts'
import { syncGroup } from './sync-group.ts'
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
  apiVersions,
  createTopics,
  deleteTopics,
  deleteRecords,
  initProducerId,
  offsetForLeaderEpoch,
  describeConfigs,
  alterConfigs,
  describeLogDirs,
  createPartitions,
  deleteGroups,
  incrementalAlterConfigs,
  offsetDelete,
  describeClientQuotas,
  alterClientQuotas,
  describeQuorum,
  updateFeatures,
  describeCluster,
  describeProducers,
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
  apiVersions,
  createPartitions,
  createTopics,
  deleteGroups,
  deleteRecords,
  deleteTopics,
  describeClientQuotas,
  describeCluster,
  describeConfigs,
  describeGroups,
  describeLogDirs,
  describeProducers,
  describeQuorum,
  describeTopicPartitions,
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
  metadata,
  offsetCommit,
  offsetDelete,
  offsetFetch,
  offsetForLeaderEpoch,
  produce,
  pushTelemetry,
  syncGroup,
  updateFeatures,
}
