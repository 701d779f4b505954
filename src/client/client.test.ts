import { describe, expect, it } from 'vitest'
import { CLOSE, ScriptedBrokers, SILENT } from '../../test/client/scripted-broker.ts'
import { findCoordinator } from '../protocol/apis/find-coordinator.ts'
import { heartbeat } from '../protocol/apis/heartbeat.ts'
import { metadata } from '../protocol/apis/metadata.ts'
import { PURE_PLATFORM } from '../records/compression.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { KafkaClient } from './client.ts'
import type { KafkaClientOptions } from './options.ts'
import { failureOf } from './result.ts'
import { until } from './task.ts'

function start(more: Partial<KafkaClientOptions> = {}) {
  const env = new VirtualEnv()
  const brokers = new ScriptedBrokers(env)
  const bootstrap = [{ host: 'broker', port: 9001 }]
  const client = new KafkaClient({ env, transport: brokers, bootstrap, platform: PURE_PLATFORM, ...more })
  return { env, brokers, client }
}

describe('metadata', () => {
  it('is asked for once, then known, and asked for again when old', () => {
    const { env, brokers, client } = start()
    brokers.topics.set('orders', { topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', leaders: [1, 1] })
    const first = client.topics(['orders'])
    env.settle()
    expect(first.value.ok).toBe(true)
    expect(client.metadata.topic('orders')?.partitions.map(each => each.leaderId)).toEqual([1, 1])
    expect(client.metadata.nameOf('AAAAAAAAAAAAAAAAAAAAAQ')).toBe('orders')
    client.topics(['orders'])
    env.settle()
    expect(brokers.bodies(metadata).length).toBe(1)
    env.advance(300_000)
    client.topics(['orders'])
    env.settle()
    expect(brokers.bodies(metadata).length).toBe(2)
  })

  it('waits for a topic that is being created, and gives up in the end', () => {
    const { env, brokers, client } = start()
    const appears = client.topics(['orders'])
    const never = client.topics(['nothing'])
    env.advance(1000)
    expect(appears.settled).toBe(false)
    brokers.topics.set('orders', { leaders: [1] })
    env.advance(60_000)
    expect(appears.value.ok).toBe(true)
    expect(never.value).toMatchObject({ ok: false, error: { code: 'UNKNOWN_TOPIC_OR_PARTITION' } })
    expect(brokers.bodies(metadata)[0].allowAutoTopicCreation).toBe(true)
  })

  it('keeps a newer leader epoch, but starts over when the topic was made again', () => {
    const { env, brokers, client } = start()
    const load = () => {
      client.refresh()
      env.settle()
      return client.metadata.partition('orders', 0)
    }
    brokers.topics.set('orders', { topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', leaders: [1], leaderEpoch: 5 })
    client.topics(['orders'])
    env.settle()
    brokers.topics.set('orders', { topicId: 'AAAAAAAAAAAAAAAAAAAAAQ', leaders: [2], leaderEpoch: 4 })
    expect(load()).toMatchObject({ leaderId: 1, leaderEpoch: 5 })
    brokers.topics.set('orders', { topicId: 'AAAAAAAAAAAAAAAAAAAAAg', leaders: [2], leaderEpoch: 0 })
    expect(load()).toMatchObject({ leaderId: 2, leaderEpoch: 0 })
    expect(client.metadata.nameOf('AAAAAAAAAAAAAAAAAAAAAQ')).toBe('orders')
  })

  it('takes the word of a broker that names its successor, if it is news', () => {
    const { env, brokers, client } = start()
    brokers.topics.set('orders', { leaders: [1], leaderEpoch: 5 })
    client.topics(['orders'])
    env.settle()
    const endpoints = [{ nodeId: 2, host: 'broker', port: 9002, rack: null }]
    expect(client.metadata.updateLeader('orders', 0, { leaderId: 2, leaderEpoch: 5 }, endpoints)).toBe(false)
    expect(client.metadata.updateLeader('orders', 0, { leaderId: 3, leaderEpoch: 6 }, endpoints)).toBe(false)
    expect(client.metadata.updateLeader('orders', 0, { leaderId: 2, leaderEpoch: 6 }, endpoints)).toBe(true)
    expect(client.metadata.partition('orders', 0)).toMatchObject({ leaderId: 2, leaderEpoch: 6 })
    expect(client.metadata.broker(2)?.port).toBe(9002)
  })

  it('is shared by those who ask while it is on its way', () => {
    const { env, brokers, client } = start()
    const replies = [client.refresh(), client.refresh(), client.refresh()]
    env.settle()
    expect(replies.map(reply => reply.value.ok)).toEqual([true, true, true])
    expect(brokers.bodies(metadata).length).toBe(2)
  })
})

describe('trying again', () => {
  it('goes from one bootstrap address to the next', () => {
    const bootstrap = [8001, 8002, 9001].map(port => ({ host: 'broker', port }))
    const { env, brokers, client } = start({ bootstrap })
    brokers.down.add(8001).add(8002)
    const reply = client.topics([])
    env.advance(2000)
    expect(reply.value.ok).toBe(true)
    expect(brokers.channels.length).toBe(3)
  })

  it('falls back to the bootstrap addresses when all known brokers are gone', () => {
    const { env, brokers, client } = start()
    brokers.nodes.set(1, 9005)
    client.topics([])
    env.settle()
    brokers.down.add(9005)
    brokers.channels[0].end()
    env.settle()
    const reply = client.run(client.retry(() => until(client.refresh())))
    env.advance(2000)
    expect(reply.value).toMatchObject({ ok: true })
  })

  it('ends when the client is closed, and leaves no timer', () => {
    const { env, brokers, client } = start()
    const retrying = client.topics(['nothing'])
    env.advance(500)
    brokers.on(heartbeat, () => SILENT)
    const waiting = client.request(heartbeat, { groupId: 'g' })
    env.settle()
    client.close()
    env.settle()
    expect(retrying.value).toMatchObject({ ok: false, error: { code: 'OTTLA_CLIENT_CLOSED' } })
    expect(waiting.value).toMatchObject({ ok: false, error: { code: 'NETWORK_EXCEPTION' } })
    expect(client.request(heartbeat, {}).value).toMatchObject({ error: { code: 'OTTLA_CLIENT_CLOSED' } })
    expect(env.timers).toBe(0)
  })
})

describe('coordinators', () => {
  it('are found, remembered, and looked for again when they moved', () => {
    const { env, brokers, client } = start()
    brokers.nodes.set(2, 9002)
    brokers.once(heartbeat, { errorCode: 0 }, { errorCode: 16 }, CLOSE, { errorCode: 0 })
    const beat = () => {
      const check = (response: { errorCode: number }) => failureOf(response.errorCode)
      const reply = client.run(client.askCoordinator('g', heartbeat, { groupId: 'g' }, check))
      env.settle()
      return reply.value.ok ? 'ok' : reply.value.error.code
    }
    expect(beat()).toBe('ok')
    brokers.coordinator = 2
    expect(beat()).toBe('NOT_COORDINATOR')
    expect(beat()).toBe('NETWORK_EXCEPTION')
    expect(beat()).toBe('ok')
    const ports = brokers.seen.filter(each => each.name === 'Heartbeat').map(each => each.port)
    expect(ports).toEqual([9001, 9001, 9002, 9002])
    expect(brokers.bodies(findCoordinator).length).toBe(3)
  })

  it.each([0, 3, 6])('are asked for in version %i', version => {
    const { env, brokers, client } = start({ maxVersions: { FindCoordinator: version } })
    const found = client.coordinator('g')
    env.settle()
    expect(found.value).toEqual({ ok: true, value: { host: 'broker', port: 9001 } })
    expect(brokers.seen.at(-1)).toMatchObject({ name: 'FindCoordinator', version })
  })

  it('have connections of their own', () => {
    const { env, brokers, client } = start()
    brokers.on(heartbeat, () => SILENT)
    client.run(client.askCoordinator('g', heartbeat, { groupId: 'g' }, () => undefined))
    env.settle()
    const reply = client.refresh()
    env.settle()
    expect(reply.value.ok).toBe(true)
    expect(brokers.channels.length).toBe(2)
  })
})
