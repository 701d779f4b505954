import { expect, it } from 'vitest'
import { HANDLERS } from '../../src/broker/apis/index.ts'
import { fetch } from '../../src/protocol/apis/fetch.ts'
import { metadata } from '../../src/protocol/apis/metadata.ts'
import { produce } from '../../src/protocol/apis/produce.ts'
import { unregisterBroker } from '../../src/protocol/apis/unregister-broker.ts'
import { encodeRequest } from '../../src/protocol/frame.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { concat } from '../../src/util/byte-writer.ts'
import { Prng } from '../../src/util/prng.ts'
import { utf8Encode } from '../../src/util/utf8.ts'
import { pick, randomStruct } from '../support/random-message.ts'
import { startTestBroker, type TestBroker, type TestConnection } from './harness.ts'

/**
 * 100,000 frames of which most are broken somewhere: the broker stays up, memory stays bounded, and a healthy client is
 * served throughout. The seed decides everything.
 */

const FRAMES = 100_000
const SEED = 20_240_917
/** A broker that was told to leave the cluster serves nobody until it starts again, as in Kafka: that is no fault. */
const FUZZED = HANDLERS.filter(({ api }) => api.key !== unregisterBroker.key)

function validFrame(random: Prng): Uint8Array {
  const { api } = pick(FUZZED, random)
  const [min, max] = api.versions
  const apiVersion = min + Math.floor(random.next() * (max - min + 1))
  const body = randomStruct(api.request.spec.fields, apiVersion, random)
  if (api.key === produce.key && random.next() < 0.7) giveRecords(body, random)
  const header = { apiKey: api.key, apiVersion, correlationId: 1, clientId: pick(['fuzz', null], random) }
  return concat(encodeRequest(api, header, body as never))
}

function giveRecords(body: Record<string, unknown>, random: Prng): void {
  const records = buildBatch({ records: [{ key: utf8Encode('k'), value: utf8Encode('v') }] })
  if (random.next() < 0.5) records[Math.floor(random.next() * records.length)] ^= 1 << Math.floor(random.next() * 8)
  body.topicData = [{ name: 'orders', partitionData: [{ index: Math.floor(random.next() * 3), records }] }]
}

/** Breaks a frame in one of many ways, or leaves it as it is. */
function mutate(frame: Uint8Array, random: Prng): Uint8Array {
  const at = () => Math.floor(random.next() * frame.length)
  switch (Math.floor(random.next() * 7)) {
    case 0:
      return frame
    case 1:
      frame[at()] ^= 1 << Math.floor(random.next() * 8)
      return frame
    case 2:
      for (let times = 0; times < 8; times++) frame[at()] = Math.floor(random.next() * 256)
      return frame
    case 3:
      return frame.slice(0, at())
    case 4:
      return concat([frame, frame.slice(at())])
    case 5: {
      const start = at()
      frame.fill(random.next() < 0.5 ? 0xff : 0x00, start, start + 4)
      return frame
    }
    default: {
      // A body cut short under a length that fits it: the reader, not the framing, has to notice.
      const cut = frame.slice(0, 4 + Math.floor(random.next() * (frame.length - 4)))
      new DataView(cut.buffer).setInt32(0, cut.length - 4)
      return cut
    }
  }
}

class Healthy {
  readonly #connection: TestConnection
  #produced = 0

  constructor(broker: TestBroker) {
    this.#connection = broker.connect('healthy')
  }

  /** Produces, fetches the same record back, and asks for metadata. */
  serve(): void {
    const records = buildBatch({ records: [{ value: utf8Encode(String(this.#produced)) }] })
    const { responses } = this.#connection.call(produce, 9, {
      acks: -1,
      timeoutMs: 1000,
      topicData: [{ name: 'healthy', partitionData: [{ index: 0, records }] }],
    })
    expect(responses[0].partitionResponses[0]).toMatchObject({ errorCode: 0, baseOffset: this.#produced })
    const asked = { partition: 0, fetchOffset: this.#produced, partitionMaxBytes: 1000 }
    const fetched = this.#connection.call(fetch, 12, {
      maxBytes: 1000,
      topics: [{ topic: 'healthy', partitions: [asked] }],
    })
    this.#produced++
    expect(fetched.responses[0].partitions[0]).toMatchObject({ errorCode: 0, highWatermark: this.#produced })
    const { topics } = this.#connection.call(metadata, 12, { topics: [{ name: 'healthy' }] })
    expect(topics[0].errorCode).toBe(0)
  }
}

it('survives 100,000 mutated frames and serves a healthy client throughout', { timeout: 120_000 }, () => {
  const random = new Prng(SEED)
  const broker = startTestBroker({
    topics: [{ name: 'orders', partitions: 2 }, { name: 'payments' }, { name: 'healthy' }],
    configs: { 'delete.topic.enable': 'false' },
    limits: { requestLogSize: 0 },
  })
  const node = broker.cluster.broker(1)
  const healthy = new Healthy(broker)
  let bad = broker.connect('fuzz')
  let closed = 0
  for (let frame = 0; frame < FRAMES; frame++) {
    if (bad.closed || random.next() < 0.01) {
      closed++
      bad.disconnect()
      bad = broker.connect('fuzz')
    }
    const bytes = mutate(validFrame(random), random)
    const split = Math.floor(random.next() * bytes.length)
    bad.raw(bytes.slice(0, split))
    bad.raw(bytes.slice(split))
    broker.env.lines.length = 0
    if (frame % 500 === 0) {
      healthy.serve()
      broker.env.advance(50)
      expect(node.connectionCount).toBeLessThanOrEqual(3)
      expect(node.traffic.received).toBeLessThan(1_000_000)
    }
  }
  expect(closed).toBeGreaterThan(FRAMES / 20)
  bad.disconnect()
  // A quarter of an hour later nothing of it is left: no waiting request, nothing read ahead, no session of a fetch.
  for (let minute = 0; minute < 15; minute++) {
    broker.env.advance(60_000)
    healthy.serve()
  }
  expect(node.purgatory.size).toBe(0)
  expect(node.traffic).toEqual({ received: 0, unsent: 0 })
  expect(node.connectionCount).toBe(1)
})
