/** What brokers say of the controller, whichever is asked. */

import { expect, it } from 'vitest'
import { CONTROLLER_ID } from '../../src/cluster/decisions/describe-quorum.ts'
import { CONTROLLER } from '../../src/cluster/network.ts'
import { describeQuorum } from '../../src/protocol/apis/describe-quorum.ts'
import { ERROR_CODES } from '../../src/protocol/errors.ts'
import { ClusterWorld } from './world.ts'

const REQUEST = { topics: [{ topicName: '__cluster_metadata', partitions: [{ partitionIndex: 0 }] }] }

function quorum(world: ClusterWorld, broker: number) {
  const { topics, nodes } = world.to(broker).call(describeQuorum, 2, REQUEST)
  return { ...topics[0].partitions[0], nodes }
}

it('is the same from every broker: one voter that is none of them, and all that are up as observers', () => {
  const world = new ClusterWorld()
  world.topic('t', [[1, 2]])
  const answers = [1, 2, 3].map(id => quorum(world, id))
  for (const answer of answers) expect(answer).toEqual(answers[0])
  const { leaderId, currentVoters, observers, highWatermark, nodes } = answers[0]
  expect(leaderId).toBe(CONTROLLER_ID)
  expect(nodes).toEqual([{ nodeId: CONTROLLER_ID, listeners: [] }])
  expect(currentVoters).toMatchObject([{ replicaId: CONTROLLER_ID, logEndOffset: highWatermark }])
  expect(observers.map(({ replicaId, logEndOffset }) => [replicaId, logEndOffset])).toEqual(
    [1, 2, 3].map(id => [id, highWatermark]),
  )
})

it('shows who is behind', () => {
  const world = new ClusterWorld()
  world.cluster.network.cut(CONTROLLER, 3)
  const before = world.cluster.metadataOffset
  world.topic('t', [[1, 2]])
  const { observers, highWatermark } = quorum(world, 1)
  expect(highWatermark).toBeGreaterThan(before)
  expect(observers.find(({ replicaId }) => replicaId === 3)?.logEndOffset).toBe(before)
})

it('is not known to a broker that cannot ask', () => {
  const world = new ClusterWorld()
  world.cluster.network.cut(1, CONTROLLER)
  const answer = world.to(1).send(describeQuorum, 2, REQUEST)
  world.env.advance(61_000)
  expect(answer()?.errorCode).toBe(ERROR_CODES.REQUEST_TIMED_OUT)
})
