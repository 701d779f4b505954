import type { Handler } from '../handler.ts'
import { apiVersionsHandler } from './api-versions.ts'
import { createTopicsHandler } from './create-topics.ts'
import { deleteTopicsHandler } from './delete-topics.ts'
import { describeClusterHandler } from './describe-cluster.ts'
import { describeConfigsHandler } from './describe-configs.ts'
import { describeGroupsHandler } from './describe-groups.ts'
import { fetchHandler } from './fetch.ts'
import { findCoordinatorHandler } from './find-coordinator.ts'
import { heartbeatHandler } from './heartbeat.ts'
import { initProducerIdHandler } from './init-producer-id.ts'
import { joinGroupHandler } from './join-group.ts'
import { leaveGroupHandler } from './leave-group.ts'
import { listGroupsHandler } from './list-groups.ts'
import { listOffsetsHandler } from './list-offsets.ts'
import { metadataHandler } from './metadata.ts'
import { offsetCommitHandler } from './offset-commit.ts'
import { offsetFetchHandler } from './offset-fetch.ts'
import { produceHandler } from './produce.ts'
import { syncGroupHandler } from './sync-group.ts'

/** Every API that is served, by key: the only registration. What is not here is not advertised. */
export const HANDLERS: readonly Handler[] = [
  produceHandler,
  fetchHandler,
  listOffsetsHandler,
  metadataHandler,
  offsetCommitHandler,
  offsetFetchHandler,
  findCoordinatorHandler,
  joinGroupHandler,
  heartbeatHandler,
  leaveGroupHandler,
  syncGroupHandler,
  describeGroupsHandler,
  listGroupsHandler,
  apiVersionsHandler,
  createTopicsHandler,
  deleteTopicsHandler,
  initProducerIdHandler,
  describeConfigsHandler,
  describeClusterHandler,
]
