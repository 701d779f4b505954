/**
 * Requests as bytes, made by hand and independent of Ottla's own protocol code, so that the same bytes go to any broker:
 * ApiVersions v0, CreateTopics v2, DeleteTopics v1, Produce v7, Fetch v4, FindCoordinator v0, OffsetCommit v2, OffsetFetch v1, and
 * record batches.
 */

const CLIENT_ID = 'bench'

/** A request frame: length, header v1, body. The correlation id stands at byte 8. */
function frame(apiKey, version, ...body) {
  const header = [int16(apiKey), int16(version), int32(0), string(CLIENT_ID)]
  const content = Buffer.concat([...header, ...body])
  return Buffer.concat([int32(content.length), content])
}

export function apiVersions() {
  return frame(18, 0)
}

export function createTopic(name, partitions, replicationFactor = 1) {
  return createTopics([name], partitions, replicationFactor)
}

export function createTopics(names, partitions, replicationFactor = 1) {
  const topics = names.flatMap(name => [string(name), int32(partitions), int16(replicationFactor), int32(0), int32(0)])
  return frame(19, 2, int32(names.length), ...topics, int32(30_000), int8(0))
}

export function deleteTopic(name) {
  return deleteTopics([name])
}

export function deleteTopics(names) {
  return frame(20, 1, int32(names.length), ...names.map(string), int32(30_000))
}

/** Of all topics. */
export function metadata() {
  return frame(3, 1, int32(-1))
}

/** Where the brokers of a Metadata v1 answer are, by id, and who leads each partition of a topic in it; −1 is nobody. */
export function readMetadata(answer, topic) {
  let at = 4
  const int = () => answer.readInt32BE((at += 4) - 4)
  const text = () => {
    const length = answer.readInt16BE(at)
    at += 2 + Math.max(0, length)
    return length < 0 ? null : answer.toString('utf8', at - length, at)
  }
  const addresses = new Map()
  for (let left = int(); left > 0; left--) {
    const id = int()
    addresses.set(id, { host: text(), port: int() })
    text()
  }
  int()
  const leaders = []
  for (let left = int(); left > 0; left--) {
    at += 2
    const name = text()
    at += 1
    for (let partitions = int(); partitions > 0; partitions--) {
      at += 2
      const index = int()
      const leader = int()
      for (let lists = 2; lists > 0; lists--) {
        const length = int()
        at += 4 * length
      }
      if (name === topic) leaders[index] = leader
    }
  }
  return { addresses, leaders }
}

/** The first error in an answer of CreateTopics v2 (where a message stands beside each) or DeleteTopics v1. */
export function firstError(answer, hasMessages) {
  const count = answer.readInt32BE(8)
  let at = 12
  for (let topic = 0; topic < count; topic++) {
    at += 2 + answer.readInt16BE(at)
    const error = answer.readInt16BE(at)
    if (error !== 0) return error
    at += 2
    if (hasMessages) at += 2 + Math.max(0, answer.readInt16BE(at))
  }
  return 0
}

export function produce(topic, partition, batch, acks = 1) {
  const header = [string(null), int16(acks), int32(30_000), int32(1), string(topic), int32(1), int32(partition)]
  return frame(0, 7, ...header, int32(batch.length), batch)
}

/** Reads from `offset` on; waits up to `maxWaitMs` for the first byte. */
export function fetch(topic, partition, offset, maxBytes, maxWaitMs) {
  const header = [int32(-1), int32(maxWaitMs), int32(1), int32(64 << 20), int8(0)]
  return frame(1, 4, ...header, int32(1), string(topic), int32(1), int32(partition), int64(offset), int32(maxBytes))
}

/** The error code of a Produce v7 answer for one partition; `answer` begins behind its length. */
export function produceError(answer) {
  const topicLength = answer.readInt16BE(8)
  return answer.readInt16BE(10 + topicLength + 4 + 4)
}

export function findCoordinator(group) {
  return frame(10, 0, string(group))
}

/** Of a group without members, the same offset for each partition. */
export function offsetCommit(group, topic, partitions, offset) {
  const each = partitions.flatMap(partition => [int32(partition), int64(offset), string('')])
  const member = [int32(-1), string(''), int64(-1)]
  return frame(8, 2, string(group), ...member, int32(1), string(topic), int32(partitions.length), ...each)
}

/** The first error code of an OffsetCommit v2 answer for one topic. */
export function offsetCommitError(answer) {
  return answer.readInt16BE(8 + 2 + answer.readInt16BE(8) + 4 + 4)
}

export function offsetFetch(group, topic, partition) {
  return frame(9, 1, string(group), int32(1), string(topic), int32(1), int32(partition))
}

/** The error code and the offset of an OffsetFetch v1 answer for one partition. */
export function readOffsetFetch(answer) {
  const at = 8 + 2 + answer.readInt16BE(8) + 4 + 4
  const offset = Number(answer.readBigInt64BE(at))
  return { offset, error: answer.readInt16BE(at + 8 + 2 + Math.max(0, answer.readInt16BE(at + 8))) }
}

/** Error code, records and the next offset of a Fetch v4 answer for one partition. */
export function readFetch(answer) {
  const at = 12 + 2 + answer.readInt16BE(12) + 4 + 4
  const error = answer.readInt16BE(at)
  const aborted = Math.max(0, answer.readInt32BE(at + 18))
  const start = at + 22 + aborted * 16
  const records = answer.subarray(start + 4, start + 4 + Math.max(0, answer.readInt32BE(start)))
  let nextOffset
  let count = 0
  for (let batch = 0; batch + 61 <= records.length; ) {
    const length = 12 + records.readInt32BE(batch + 8)
    if (batch + length > records.length) break
    nextOffset = Number(records.readBigInt64BE(batch)) + records.readInt32BE(batch + 23) + 1
    count += records.readInt32BE(batch + 57)
    batch += length
  }
  return { error, records, nextOffset, count }
}

/** One uncompressed batch of records without keys. */
export function recordBatch(values) {
  const records = values.map((value, index) => {
    const body = [int8(0), varint(0), varint(index), varint(-1), varint(value.length), value, varint(0)]
    const content = Buffer.concat(body)
    return Buffer.concat([varint(content.length), content])
  })
  const batch = Buffer.concat([Buffer.alloc(61), ...records])
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt32BE(-1, 12)
  batch[16] = 2
  batch.writeInt32BE(values.length - 1, 23)
  const now = BigInt(Date.now())
  batch.writeBigInt64BE(now, 27)
  batch.writeBigInt64BE(now, 35)
  batch.writeBigInt64BE(-1n, 43)
  batch.writeInt16BE(-1, 51)
  batch.writeInt32BE(-1, 53)
  batch.writeInt32BE(values.length, 57)
  batch.writeUInt32BE(crc32c(batch.subarray(21)), 17)
  return batch
}

/** Where the value of the only record of a batch begins. */
export function onlyValue(batch) {
  let at = 61
  const next = () => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = batch[at++]
      value |= (byte & 127) << shift
      if (byte < 128) return (value >>> 1) ^ -(value & 1)
    }
  }
  next()
  at += 1
  next()
  next()
  next()
  const length = next()
  return batch.subarray(at, at + length)
}

const TABLE = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1
  return value
})

function crc32c(bytes) {
  let crc = 0xffffffff
  for (const byte of bytes) crc = TABLE[(crc ^ byte) & 255] ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}

function int8(value) {
  return Buffer.from([value])
}

function int16(value) {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(value)
  return bytes
}

function int32(value) {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

function int64(value) {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}

function string(text) {
  return text === null ? int16(-1) : Buffer.concat([int16(text.length), Buffer.from(text)])
}

function varint(value) {
  const bytes = []
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  for (; rest > 127; rest >>>= 7) bytes.push((rest & 127) | 128)
  return Buffer.from([...bytes, rest])
}
