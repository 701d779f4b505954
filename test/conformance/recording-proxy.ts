/**
 * A TCP proxy that writes down every request and the error codes of its answer, to have a request log of a broker that
 * keeps none: Apache Kafka. With it the expectations of `request-log.ts` are held against the real thing.
 *
 * It changes no byte. An API that Ottla has no schema for is noted by its header alone.
 */
import { connect, createServer, type Socket } from 'node:net'
import { apiByKey } from '../../src/protocol/apis/index.ts'
import { isFlexible, readStruct } from '../../src/protocol/codec.ts'
import type { Api } from '../../src/protocol/dsl.ts'
import { errorName } from '../../src/protocol/errors.ts'
import { readRequestHeader, readResponseHeader } from '../../src/protocol/header.ts'
import { ByteReader } from '../../src/util/byte-reader.ts'
import { apiName, type RequestRecord } from './request-log.ts'
import { CODECS } from './wire.ts'

export interface RecordingProxy {
  port: number
  requests: RequestRecord[]
  /** Where accepted connections go; the broker may start after the proxy, because it has to advertise its port. */
  upstreamPort: number
  close(): Promise<void>
}

export async function startRecordingProxy(): Promise<RecordingProxy> {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer(client => {
    const upstream = connect(proxy.upstreamPort, '127.0.0.1')
    const recorder = new ConnectionRecorder(++connections, proxy.requests)
    client.on(
      'data',
      frameReader(frame => recorder.request(frame)),
    )
    upstream.on(
      'data',
      frameReader(frame => recorder.response(frame)),
    )
    client.pipe(upstream)
    upstream.pipe(client)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      // When one side goes, however it goes, so does the other.
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address() as { port: number }
  const proxy: RecordingProxy = {
    port: address.port,
    requests: [],
    upstreamPort: 0,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  return proxy
}

/** Cuts a stream of bytes into frames of four bytes size and a body. */
function frameReader(onFrame: (frame: Buffer) => void): (data: Buffer) => void {
  let pending = Buffer.alloc(0)
  return data => {
    pending = Buffer.concat([pending, data])
    while (pending.length >= 4) {
      const end = 4 + pending.readInt32BE(0)
      if (pending.length < end) return
      onFrame(pending.subarray(4, end))
      pending = pending.subarray(end)
    }
  }
}

/** Pairs the requests of one connection with their answers, which Kafka sends in the same order. */
class ConnectionRecorder {
  readonly #connection: number
  readonly #log: RequestRecord[]
  readonly #unanswered: RequestRecord[] = []

  constructor(connection: number, log: RequestRecord[]) {
    this.#connection = connection
    this.#log = log
  }

  request(frame: Buffer): void {
    const apiKey = frame.readInt16BE(0)
    const version = frame.readInt16BE(2)
    const length = frame.readInt16BE(8)
    const clientId = length < 0 ? '' : frame.toString('utf8', 10, 10 + length)
    const record: RequestRecord = {
      apiKey,
      api: apiName(apiKey),
      version,
      clientId,
      connection: this.#connection,
      errorCodes: [],
    }
    if (record.api === 'Produce') record.codecs = producedCodecs(apiByKey(apiKey)!, version, frame)
    this.#log.push(record)
    this.#unanswered.push(record)
  }

  response(frame: Buffer): void {
    const record = this.#unanswered.shift()!
    const api = apiByKey(record.apiKey)
    if (!api) return
    const { key } = api
    // ApiVersions answers a version that it does not know in version 0 (KIP-511).
    const refused = key === 18 && frame.readInt16BE(4) !== 0
    const version = refused ? 0 : record.version
    const reader = new ByteReader(frame)
    readResponseHeader(api, version, reader)
    const body = readStruct(api.response, version, isFlexible(api, version), reader)
    record.errorCodes = errorCodes(body).map(errorName)
  }
}

function producedCodecs(api: Api, version: number, frame: Buffer): string[] {
  const reader = new ByteReader(frame)
  readRequestHeader(api, version, reader)
  const body = readStruct(api.request, version, isFlexible(api, version), reader) as unknown as {
    topicData: { partitionData: { records: Uint8Array }[] }[]
  }
  const batches = body.topicData.flatMap(topic => topic.partitionData.map(partition => partition.records))
  // The codec stands in the last bits of the attributes, which are the bytes 21 and 22 of a batch.
  return batches.map(batch => CODECS[batch[22] & 7])
}

/** All error codes other than 0, however deep in the answer. */
function errorCodes(value: unknown): number[] {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return []
  return Object.entries(value).flatMap(([name, field]) =>
    name === 'errorCode' ? (field === 0 ? [] : [field as number]) : errorCodes(field),
  )
}
