import { describe, expect, it } from 'vitest'
import { CLOSE, ScriptedBrokers, SILENT } from '../../test/client/scripted-broker.ts'
import { apiVersions } from '../protocol/apis/api-versions.ts'
import { fetch } from '../protocol/apis/fetch.ts'
import { heartbeat } from '../protocol/apis/heartbeat.ts'
import { joinGroup } from '../protocol/apis/join-group.ts'
import { metadata } from '../protocol/apis/metadata.ts'
import { produce } from '../protocol/apis/produce.ts'
import { VirtualEnv } from '../util/virtual-env.ts'
import { Connection, type ConnectionOptions } from './connection.ts'
import { DEFAULTS } from './options.ts'

function connect(prepare: (brokers: ScriptedBrokers) => void = () => {}, more: Partial<ConnectionOptions> = {}) {
  const env = new VirtualEnv()
  const brokers = new ScriptedBrokers(env)
  prepare(brokers)
  const options = { ...DEFAULTS, env, transport: brokers, host: 'broker', port: 9001, ...more }
  return { env, brokers, connection: new Connection(options) }
}

const beat = { groupId: 'g', generationId: 1, memberId: 'm' }

describe('version negotiation', () => {
  it('asks for ApiVersions first, in the newest version, and says who it is', () => {
    const { env, brokers, connection } = connect()
    connection.request(heartbeat, beat)
    expect(brokers.seen).toEqual([])
    brokers.on(heartbeat, () => ({}))
    env.settle()
    expect(brokers.seen.map(({ name, version }) => [name, version])).toEqual([
      ['ApiVersions', 5],
      ['Heartbeat', 4],
    ])
    expect(brokers.seen[0]).toMatchObject({ clientId: 'ottla', body: { clientSoftwareName: 'ottla', nodeId: -1 } })
  })

  it('asks again in the version that an older broker names', () => {
    const { env, brokers, connection } = connect(b => {
      b.ranges['ApiVersions'] = [0, 3]
      b.on(heartbeat, () => ({}))
      b.on(apiVersions, (_body, { version }) =>
        version > 3
          ? { errorCode: 35, apiKeys: [{ apiKey: 18, minVersion: 0, maxVersion: 3 }] }
          : { apiKeys: b.apiKeys() },
      )
    })
    const reply = connection.request(heartbeat, beat)
    env.settle()
    expect(brokers.seen.map(({ name, version }) => [name, version])).toEqual([
      ['ApiVersions', 5],
      ['ApiVersions', 3],
      ['Heartbeat', 4],
    ])
    expect(reply.value.ok).toBe(true)
  })

  it('gives up on a broker that refuses every version, or to answer', () => {
    for (const errorCode of [35, -1]) {
      const { env, connection } = connect(b => b.on(apiVersions, () => ({ errorCode })))
      const reply = connection.request(heartbeat, beat)
      env.settle()
      expect(reply.value).toMatchObject({ ok: false, error: { code: 'NETWORK_EXCEPTION' } })
      expect(connection.closed).toBe(true)
    }
  })

  it('speaks the highest version in common, never above what is pinned', () => {
    const { env, brokers, connection } = connect(
      b => {
        b.ranges['Heartbeat'] = [0, 2]
        b.on(heartbeat, () => ({}))
        b.on(joinGroup, () => ({}))
      },
      { maxVersions: { JoinGroup: 5 } },
    )
    connection.request(heartbeat, beat)
    connection.request(joinGroup, { groupId: 'g' })
    env.settle()
    expect(brokers.seen.slice(1).map(({ name, version }) => [name, version])).toEqual([
      ['Heartbeat', 2],
      ['JoinGroup', 5],
    ])
  })

  it('refuses what the broker does not speak, and what the version cannot say, and goes on', () => {
    const { env, connection } = connect(b => {
      b.ranges['Fetch'] = undefined
      b.ranges['Heartbeat'] = [0, 2]
      b.on(heartbeat, () => ({}))
    })
    const absent = connection.request(fetch, {})
    const unspeakable = connection.request(heartbeat, { ...beat, groupInstanceId: 'static' })
    const fine = connection.request(heartbeat, beat)
    env.settle()
    expect(absent.value).toMatchObject({ ok: false, error: { code: 'UNSUPPORTED_VERSION' } })
    expect(unspeakable.value).toMatchObject({ ok: false, error: { code: 'UNSUPPORTED_VERSION' } })
    expect(fine.value.ok).toBe(true)
  })
})

describe('frames', () => {
  it.each([1, 2, 3, 5, 7, 64])('are put together from chunks of %i bytes', chunkBytes => {
    const { env, connection } = connect(b => {
      b.chunkBytes = chunkBytes
      b.topics.set('orders', { leaders: [1, 1, 1] })
    })
    const first = connection.request(metadata, { topics: [{ name: 'orders' }] })
    const second = connection.request(metadata, { topics: [{ name: 'none' }] })
    env.settle()
    expect(first.value).toMatchObject({ ok: true, value: { topics: [{ name: 'orders', partitions: [{}, {}, {}] }] } })
    expect(second.value).toMatchObject({ ok: true, value: { topics: [{ name: 'none', errorCode: 3 }] } })
  })

  it('end the connection when they are longer than allowed', () => {
    const { env, brokers, connection } = connect(undefined, { maxFrameBytes: 5000 })
    env.settle()
    const reply = connection.request(heartbeat, beat)
    brokers.on(heartbeat, () => SILENT)
    brokers.channels[0].deliver(Uint8Array.of(0, 0, 0x20, 0))
    env.settle()
    expect(reply.value).toMatchObject({ ok: false, error: { code: 'OTTLA_BAD_RESPONSE' } })
    expect([connection.closed, brokers.channels[0].open]).toEqual([true, false])
  })

  it('end the connection when they answer out of order, or cannot be read', () => {
    for (const frame of [
      [0, 0, 0, 9, 0, 0, 0, 77, 0, 0, 0, 0, 0],
      [0, 0, 0, 6, 0, 0, 0, 1, 0, 0],
    ]) {
      const { env, brokers, connection } = connect(b => b.on(heartbeat, () => SILENT))
      const first = connection.request(heartbeat, beat)
      const second = connection.request(heartbeat, beat)
      env.settle()
      brokers.channels[0].deliver(Uint8Array.from(frame))
      env.settle()
      expect(first.value).toMatchObject({ ok: false, error: { code: 'OTTLA_BAD_RESPONSE' } })
      expect(second.value).toMatchObject({ ok: false, error: { code: 'NETWORK_EXCEPTION' } })
      expect(connection.closed).toBe(true)
    }
  })
})

describe('requests', () => {
  it('wait for their turn when too many are on their way', () => {
    const { env, brokers, connection } = connect(b => b.on(heartbeat, () => SILENT), { maxInFlight: 2 })
    const replies = [1, 2, 3].map(() => connection.request(heartbeat, beat))
    env.settle()
    expect(brokers.bodies(heartbeat).length).toBe(1)
    expect(connection.load).toBe(3)
    brokers.channels[0].deliver(Uint8Array.of(0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0))
    env.settle()
    expect(replies.map(reply => reply.settled)).toEqual([true, false, false])
    connection.close()
    env.settle()
    expect(env.timers).toBe(0)
  })

  it('that are not answered in time end the connection; those behind them fail too', () => {
    const { env, brokers, connection } = connect(b => b.on(heartbeat, () => SILENT))
    env.settle()
    const first = connection.request(heartbeat, beat, { timeoutMs: 1000 })
    const second = connection.request(heartbeat, beat, { timeoutMs: 5000 })
    env.advance(999)
    expect(first.settled).toBe(false)
    env.advance(1)
    expect(first.value).toMatchObject({ ok: false, error: { code: 'REQUEST_TIMED_OUT' } })
    expect(second.value).toMatchObject({ ok: false, error: { code: 'NETWORK_EXCEPTION' } })
    expect([connection.closed, brokers.channels[0].open, env.timers]).toEqual([true, false, 0])
  })

  it('all fail when the broker closes, or nobody listens', () => {
    const closing = connect(b => b.on(heartbeat, () => CLOSE))
    const down = connect(b => b.down.add(9001))
    for (const { env, connection } of [closing, down]) {
      const replies = [connection.request(heartbeat, beat), connection.request(heartbeat, beat)]
      env.settle()
      for (const reply of replies) expect(reply.value).toMatchObject({ error: { code: 'NETWORK_EXCEPTION' } })
      const later = connection.request(heartbeat, beat)
      expect(later.value).toMatchObject({ error: { code: 'NETWORK_EXCEPTION' } })
      expect(env.timers).toBe(0)
    }
  })

  it('with acks 0 settle when sent, and the next response is not taken for theirs', () => {
    const { env, brokers, connection } = connect(b => {
      b.on(produce, () => ({}))
      b.on(heartbeat, () => ({ errorCode: 27 }))
    })
    const unanswered = connection.request(produce, { acks: 0 }, { expectResponse: false })
    const answered = connection.request(heartbeat, beat)
    env.settle()
    expect(unanswered.value).toEqual({ ok: true, value: undefined })
    expect(answered.value).toMatchObject({ ok: true, value: { errorCode: 27 } })
    expect(brokers.names).toEqual(['Produce', 'Heartbeat'])
  })

  it('wait while the broker throttles', () => {
    const { env, brokers, connection } = connect(b => b.on(heartbeat, () => ({ throttleTimeMs: 250 })))
    connection.request(heartbeat, beat)
    env.settle()
    connection.request(heartbeat, beat)
    env.advance(249)
    expect(brokers.bodies(heartbeat).length).toBe(1)
    env.advance(1)
    expect(brokers.bodies(heartbeat).length).toBe(2)
  })
})
