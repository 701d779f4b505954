/**
 * Reads what a broker has stored, byte by byte: one Fetch request in version 4, the batches' headers, and the records
 * of batches that are not compressed.
 *
 * Written from the protocol and on purpose not with Ottla's own codec or with a client under test: this is how the run
 * knows which codec was stored, whatever the client says. Not a client: one connection per call, no error recovery.
 */
import { connect } from 'node:net'
import type { Header } from './client.ts'

const FETCH = 1
/** The codecs by their number in the attributes of a batch. */
export const CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const

/** The header of one stored record batch. */
export interface StoredBatch {
  baseOffset: number
  codec: (typeof CODECS)[number]
  producerId: number
  recordCount: number
  records: Buffer
}

/** A record as the bytes that it is made of. */
export interface StoredBytes {
  offset: number
  key: Buffer | null
  value: Buffer | null
  headers: [Buffer | null, Buffer | null][]
}

export interface StoredRecord {
  offset: number
  key: string | null
  value: string | null
  headers: Header[]
}

/** All batches of a partition, from its first offset to its high watermark. */
export async function storedBatches(
  bootstrapServers: string,
  topic: string,
  partition: number,
): Promise<StoredBatch[]> {
  const batches: StoredBatch[] = []
  let offset = 0
  for (;;) {
    const reply = await roundTrip(bootstrapServers, fetchRequest(topic, partition, offset))
    const { highWatermark, records } = parseFetchResponse(reply)
    const found = parseBatches(records)
    batches.push(...found)
    if (found.length === 0) return batches
    const last = found[found.length - 1]
    offset = last.baseOffset + last.recordCount
    if (offset >= highWatermark) return batches
  }
}

/** All records of a partition; every batch has to be uncompressed. */
export async function storedRecords(
  bootstrapServers: string,
  topic: string,
  partition: number,
): Promise<StoredRecord[]> {
  const text = (bytes: Buffer | null) => bytes?.toString('utf8') ?? null
  return (await storedBytes(bootstrapServers, topic, partition)).map(({ offset, key, value, headers }) => ({
    offset,
    key: text(key),
    value: text(value),
    headers: headers.map(([name, content]): Header => [text(name) ?? '', text(content) ?? '']),
  }))
}

/** All records of a partition whose keys and values are no text; every batch has to be uncompressed. */
export async function storedBytes(bootstrapServers: string, topic: string, partition: number): Promise<StoredBytes[]> {
  const batches = await storedBatches(bootstrapServers, topic, partition)
  return batches.flatMap(parseRecords)
}

function fetchRequest(topic: string, partition: number, offset: number): Buffer {
  const clientId = Buffer.from('conformance-wire')
  const name = Buffer.from(topic)
  const body = Buffer.alloc(10 + clientId.length + 17 + 4 + 2 + name.length + 4 + 16)
  let at = body.writeInt16BE(FETCH, 0)
  at = body.writeInt16BE(4, at)
  at = body.writeInt32BE(1, at)
  at = body.writeInt16BE(clientId.length, at)
  at += clientId.copy(body, at)
  at = body.writeInt32BE(-1, at) // replica id: a consumer
  at = body.writeInt32BE(0, at) // max wait
  at = body.writeInt32BE(0, at) // min bytes
  at = body.writeInt32BE(16_000_000, at)
  at = body.writeInt8(0, at) // read uncommitted
  at = body.writeInt32BE(1, at)
  at = body.writeInt16BE(name.length, at)
  at += name.copy(body, at)
  at = body.writeInt32BE(1, at)
  at = body.writeInt32BE(partition, at)
  at = body.writeBigInt64BE(BigInt(offset), at)
  body.writeInt32BE(16_000_000, at)
  return body
}

function parseFetchResponse(reply: Buffer): { highWatermark: number; records: Buffer } {
  let at = 4 + 4 + 4 // correlation id, throttle time, number of topics
  at += 2 + reply.readInt16BE(at) + 4 + 4 // name, number of partitions, partition
  const errorCode = reply.readInt16BE(at)
  if (errorCode !== 0) throw new Error(`Fetch was answered with error code ${errorCode}`)
  const highWatermark = Number(reply.readBigInt64BE(at + 2))
  at += 2 + 8 + 8
  const aborted = reply.readInt32BE(at)
  at += 4 + Math.max(aborted, 0) * 16
  const length = Math.max(reply.readInt32BE(at), 0)
  return { highWatermark, records: reply.subarray(at + 4, at + 4 + length) }
}

function parseBatches(bytes: Buffer): StoredBatch[] {
  const batches: StoredBatch[] = []
  for (let at = 0; at + 61 <= bytes.length; ) {
    const end = at + 12 + bytes.readInt32BE(at + 8)
    if (end > bytes.length) break
    batches.push({
      baseOffset: Number(bytes.readBigInt64BE(at)),
      codec: CODECS[bytes.readInt16BE(at + 21) & 7],
      producerId: Number(bytes.readBigInt64BE(at + 43)),
      recordCount: bytes.readInt32BE(at + 57),
      records: bytes.subarray(at + 61, end),
    })
    at = end
  }
  return batches
}

function parseRecords(batch: StoredBatch): StoredBytes[] {
  if (batch.codec !== 'none') throw new Error(`the batch at ${batch.baseOffset} is compressed with ${batch.codec}`)
  const { records: bytes } = batch
  let at = 0
  const varint = () => {
    let value = 0n
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]
      value |= BigInt(byte & 127) << shift
      if (byte < 128) return Number((value >> 1n) ^ -(value & 1n))
    }
  }
  const field = () => {
    const length = varint()
    if (length < 0) return null
    at += length
    return bytes.subarray(at - length, at)
  }
  return Array.from({ length: batch.recordCount }, () => {
    varint() // length
    at += 1 // attributes
    varint() // timestamp delta
    const offset = batch.baseOffset + varint()
    const key = field()
    const value = field()
    const headers = Array.from({ length: varint() }, (): [Buffer | null, Buffer | null] => [field(), field()])
    return { offset, key, value, headers }
  })
}

function roundTrip(bootstrapServers: string, body: Buffer): Promise<Buffer> {
  const { hostname, port } = new URL(`tcp://${bootstrapServers}`)
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname)
    let received = Buffer.alloc(0)
    socket.setTimeout(10_000, () => socket.destroy(new Error('no answer to a Fetch request')))
    socket.on('connect', () => {
      const size = Buffer.alloc(4)
      size.writeInt32BE(body.length)
      socket.write(Buffer.concat([size, body]))
    })
    socket.on('data', data => {
      received = Buffer.concat([received, data])
      if (received.length < 4 || received.length < 4 + received.readInt32BE(0)) return
      resolve(received.subarray(4))
      socket.destroy()
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the broker closed the connection')))
  })
}
