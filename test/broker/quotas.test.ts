// Clients held to their byte rates: what they are told, and that their connection is not read from for as long.

import { describe, expect, it } from 'vitest'
import { alterClientQuotas, apiVersions, fetch, produce } from '../../src/protocol/apis/index.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { crc32cJs } from '../../src/records/crc32c.ts'
import { startTestBroker, type TestConnection } from './harness.ts'

function start() {
  const broker = startTestBroker({ topics: [{ name: 't', partitions: 1 }] })
  const admin = broker.connect('admin')
  const slow = broker.connect('slow')
  const limit = (key: string, value: number | null) => {
    const ops = [{ key, value: value ?? 0, remove: value === null }]
    admin.call(alterClientQuotas, 1, {
      entries: [{ entity: [{ entityType: 'client-id', entityName: 'slow' }], ops }],
    })
  }
  const request = (bytes: number, acks: number) => {
    const records = buildBatch({
      records: [{ value: new Uint8Array(bytes), timestamp: broker.env.now() }],
      crc32c: crc32cJs,
    })
    return { acks, timeoutMs: 1000, topicData: [{ name: 't', partitionData: [{ index: 0, records }] }] }
  }
  const send = (connection: TestConnection, bytes: number, acks = 1) =>
    connection.call(produce, 9, request(bytes, acks))
  const fetchRequest = (fetchOffset: number, session: { sessionId?: number; sessionEpoch?: number } = {}) => ({
    ...session,
    maxBytes: 1_000_000,
    topics: [{ topic: 't', partitions: [{ partition: 0, fetchOffset, partitionMaxBytes: 1_000_000 }] }],
  })
  return { ...broker, admin, slow, limit, send, request, fetchRequest }
}

describe('producer_byte_rate', () => {
  it('lets a burst through, then tells to wait, and appends all the same', () => {
    const { slow, admin, limit, send, env } = start()
    limit('producer_byte_rate', 1000)
    expect(send(slow, 8000).throttleTimeMs).toBe(0)
    const answer = send(slow, 8000)
    expect(answer.responses[0].partitionResponses[0]).toMatchObject({ errorCode: 0, baseOffset: 1 })
    expect(answer.throttleTimeMs).toBeGreaterThan(6000)
    expect(answer.throttleTimeMs).toBeLessThan(6300)

    const waiting = slow.send(apiVersions, 0, {})
    expect(waiting()).toBeUndefined()
    expect(admin.call(apiVersions, 0, {}).errorCode).toBe(0)
    env.advance(answer.throttleTimeMs - 1)
    expect(waiting()).toBeUndefined()
    env.advance(1)
    expect(waiting()).toMatchObject({ errorCode: 0 })
  })

  it('mutes for 24 days at the most, which is what an answer can say', () => {
    const { connect, limit, send } = start()
    limit('producer_byte_rate', 1)
    const answers = [1, 2, 3].map(() => send(connect('slow'), 1_000_000))
    expect(answers[2].throttleTimeMs).toBe(2 ** 31 - 1)
  })

  it('counts what is sent without acks, and mutes though nothing is answered', () => {
    const { slow, limit, request, env } = start()
    limit('producer_byte_rate', 1000)
    slow.send(produce, 7, request(12_000, 0))
    const waiting = slow.send(apiVersions, 0, {})
    expect(waiting()).toBeUndefined()
    env.advance(2500)
    expect(waiting()).toMatchObject({ errorCode: 0 })
  })

  it('does not count before it is set, nor once it is taken away', () => {
    const { slow, limit, send } = start()
    expect(send(slow, 50_000).throttleTimeMs).toBe(0)
    limit('producer_byte_rate', 1000)
    expect(send(slow, 5000).throttleTimeMs).toBe(0)
    limit('producer_byte_rate', null)
    expect(send(slow, 50_000).throttleTimeMs).toBe(0)
  })

  it('a connection that is closed while muted is forgotten', () => {
    const { slow, limit, send, env, cluster } = start()
    limit('producer_byte_rate', 1000)
    expect(send(slow, 50_000).throttleTimeMs).toBeGreaterThan(0)
    slow.send(apiVersions, 0, {})
    slow.disconnect()
    env.advance(60_000)
    expect(slow.unread).toBe(0)
    expect(cluster.broker(1).traffic).toMatchObject({ received: 0, unsent: 0 })
  })
})

describe('consumer_byte_rate', () => {
  it('gives an empty answer to who would get too much, which is not counted', () => {
    const { slow, admin, limit, send, fetchRequest, env } = start()
    send(admin, 30_000)
    limit('consumer_byte_rate', 2000)
    const first = slow.call(fetch, 12, fetchRequest(0, { sessionEpoch: 0 }))
    expect(first).toMatchObject({ errorCode: 0, sessionId: 0, responses: [] })
    expect(first.throttleTimeMs).toBeGreaterThan(5000)
    expect(first.throttleTimeMs).toBeLessThan(5100)
    env.advance(first.throttleTimeMs)
    const again = slow.call(fetch, 12, fetchRequest(0))
    expect(again.responses).toEqual([])
    env.advance(again.throttleTimeMs)
    limit('consumer_byte_rate', 10_000)
    const { throttleTimeMs, responses } = slow.call(fetch, 12, fetchRequest(0))
    expect(throttleTimeMs).toBe(0)
    expect(responses[0].partitions[0].records?.length).toBeGreaterThan(30_000)
  })

  it('reads no more than fits into all windows, but one batch', () => {
    const { slow, admin, limit, send, fetchRequest } = start()
    for (let count = 0; count < 6; count++) send(admin, 4000)
    limit('consumer_byte_rate', 1000)
    const { responses, throttleTimeMs } = slow.call(fetch, 12, fetchRequest(0))
    expect(throttleTimeMs).toBe(0)
    expect(responses[0].partitions[0].records?.length).toBeGreaterThan(8000)
    expect(responses[0].partitions[0].records?.length).toBeLessThan(10_000)
  })

  it('keeps the session of an incremental fetch, and what it was not told yet', () => {
    const { slow, admin, limit, send, fetchRequest, env } = start()
    const { sessionId } = slow.call(fetch, 12, fetchRequest(0, { sessionEpoch: 0 }))
    send(admin, 11_000)
    limit('consumer_byte_rate', 1000)
    const throttled = slow.call(fetch, 12, { ...fetchRequest(0), topics: [], sessionId, sessionEpoch: 1 })
    expect(throttled).toMatchObject({ sessionId, responses: [] })
    expect(throttled.throttleTimeMs).toBeGreaterThan(0)
    env.advance(throttled.throttleTimeMs)
    limit('consumer_byte_rate', null)
    const { responses } = slow.call(fetch, 12, { ...fetchRequest(0), topics: [], sessionId, sessionEpoch: 2 })
    expect(responses[0].partitions[0]).toMatchObject({ highWatermark: 1 })
    expect(responses[0].partitions[0].records?.length).toBeGreaterThan(11_000)
  })
})
