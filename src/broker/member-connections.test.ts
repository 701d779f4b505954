import { expect, it } from 'vitest'
import { platform, TestConnection } from '../../test/broker/harness.ts'
import { Cluster } from '../cluster/index.ts'
import { findCoordinator } from '../protocol/apis/find-coordinator.ts'
import { heartbeat } from '../protocol/apis/heartbeat.ts'
import { joinGroup } from '../protocol/apis/join-group.ts'
import { syncGroup } from '../protocol/apis/sync-group.ts'
import { MemoryStorage } from '../storage/memory-storage.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { viewGroup } from './group-view.ts'

function start(evictDisconnected: boolean) {
  const env = new VirtualEnv()
  const cluster = new Cluster({
    env,
    brokers: [{ id: 1, storage: new MemoryStorage({ turns: env.turns }), platform }],
    configs: { 'group.initial.rebalance.delay.ms': '0', 'offsets.topic.num.partitions': '1' },
    evictDisconnected,
  })
  cluster.broker(1).register('localhost', 9092)
  env.settle()
  const client = new TestConnection(env, cluster)
  client.call(findCoordinator, 4, { keyType: 0, coordinatorKeys: ['billing'] })
  const ask = { groupId: 'billing', sessionTimeoutMs: 30_000, rebalanceTimeoutMs: 30_000, protocolType: 'consumer' }
  const protocols = [{ name: 'range', metadata: new Uint8Array(8) }]
  const { memberId } = client.call(joinGroup, 7, { ...ask, protocols })
  const joining = client.send(joinGroup, 7, { ...ask, memberId, protocols })
  env.advance(1)
  const generationId = joining()?.generationId as number
  const group = { groupId: 'billing', generationId, memberId, protocolType: 'consumer', protocolName: 'range' }
  client.call(syncGroup, 5, { ...group, assignments: [{ memberId, assignment: new Uint8Array(0) }] })
  const view = () => viewGroup(cluster.broker(1), 'billing')
  expect(view()).toMatchObject({ state: 'Stable', stable: true, members: [{ memberId, clientId: 'test' }] })
  const beat = (connection: TestConnection) =>
    connection.call(heartbeat, 4, { groupId: 'billing', generationId, memberId }).errorCode
  return { client, view, beat, connect: () => new TestConnection(env, cluster) }
}

it('takes a member out of its group when its connection ends, if that was asked for', () => {
  const kept = start(false)
  kept.client.disconnect()
  expect(kept.view().members).toHaveLength(1)
  const evicted = start(true)
  evicted.client.disconnect()
  expect(evicted.view()).toMatchObject({ state: 'Empty', members: [] })
})

it('leaves alone who has been heard of on another connection since', () => {
  const { client, view, beat, connect } = start(true)
  const other = connect()
  expect(beat(other)).toBe(0)
  client.disconnect()
  expect(view().members).toHaveLength(1)
  other.disconnect()
  expect(view().members).toEqual([])
})
