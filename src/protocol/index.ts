/**
 * `ottla/protocol`: the Kafka protocol as schemas, and the codec that reads and writes them. Bytes in, bytes out; no
 * socket, no broker, no client. Each API is one constant for all its versions, from which the types are inferred.
 *
 * @example
 * import { type Decoded, encodeRequest, heartbeat } from 'ottla/protocol'
 *
 * type HeartbeatResponse = Decoded<typeof heartbeat.response>
 * const header = { apiKey: heartbeat.key, apiVersion: 4, correlationId: 1, clientId: 'me' }
 * const parts = encodeRequest(heartbeat, header, { groupId: 'g', generationId: 1, memberId: 'm' })
 */

export { ByteError, ByteReader } from '../util/byte-reader.ts'
export { ByteWriter } from '../util/byte-writer.ts'
export * from './apis/index.ts'
export {
  decodeMessage,
  decodeVersioned,
  EncodeError,
  encodeMessage,
  encodeVersioned,
  isFlexible,
  readStruct,
  writeStruct,
} from './codec.ts'
export * from './dsl.ts'
export * from './embedded/consumer-protocol.ts'
export * from './embedded/control-records.ts'
export * from './embedded/group-records.ts'
export * from './errors.ts'
export { decodeRequest, decodeResponse, encodeRequest, encodeResponse } from './frame.ts'
export {
  type RequestHeader,
  readRequestHeader,
  readResponseHeader,
  requestHeader,
  responseHeader,
  writeRequestHeader,
  writeResponseHeader,
} from './header.ts'
