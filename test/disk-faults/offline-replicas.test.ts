// A log that fails on one broker of several is told as offline by all of them, as the offline directories of Kafka's brokers are
// (KIP-858), until its broker is started again.

import { expect, it } from 'vitest'
import { describeTopicPartitions } from '../../src/protocol/apis/describe-topic-partitions.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { ClusterWorld } from '../cluster/world.ts'
import { GatedStorage } from '../support/gated-storage.ts'

/** Three brokers, each with a storage that obeys the test, and a topic on all of them. */
function start() {
  const env = new VirtualEnv()
  const storages: GatedStorage[] = []
  const storage = () => {
    const made = new GatedStorage(env.turns)
    storages.push(made)
    return made
  }
  const world = new ClusterWorld({}, { env, storage })
  world.topic('t', [[1, 2, 3]], { 'min.insync.replicas': '1' })
  expect(world.produced(1, 't', 'a')).toBe('NONE')
  const told = () => [1, 2, 3].map(id => world.believed(id, 't').offlineReplicas)
  const described = () =>
    [1, 2, 3].map(id => {
      const answer = world.to(id).call(describeTopicPartitions, 0, { topics: [{ name: 't' }] })
      return answer.topics[0].partitions[0].offlineReplicas
    })
  return { world, storages, told, described }
}

it.each([
  ['a follower', 2],
  ['the leader', 1],
])('every broker tells that a replica has failed: %s', (_which, failing) => {
  const { world, storages, told, described } = start()
  storages[failing - 1].failsToWrite = /^t-0/
  const answer = world.produce(1, 't', 'b', { timeoutMs: 60_000 })
  world.env.advance(40_000)
  expect(answer()).toBe(failing === 1 ? 'KAFKA_STORAGE_ERROR' : 'NONE')
  expect(told()).toEqual([[failing], [failing], [failing]])
  expect(described()).toEqual([[failing], [failing], [failing]])
  expect(world.partition('t').isr).not.toContain(failing)
  expect(world.produced(world.partition('t').leader, 't', 'c')).toBe('NONE')
})

it('nobody tells it any more once the broker was started again', () => {
  const { world, storages, told } = start()
  storages[1].failsToWrite = /^t-0/
  world.produce(1, 't', 'b')
  world.env.advance(40_000)
  expect(told()).toEqual([[2], [2], [2]])
  storages[1].failsToWrite = undefined
  world.cluster.node(2).kill()
  world.env.advance(100)
  world.cluster.node(2).start()
  world.env.advance(20_000)
  expect(told()).toEqual([[], [], []])
  expect(world.partition('t').isr.toSorted()).toEqual([1, 2, 3])
})
