/**
 * What the pure part cannot do by itself and Node can: checksums in native code, and codecs.
 */
import type { RecordsPlatform } from '../records/compression.ts'
import { nodeCompression } from './codecs.ts'
import { nodeCrc32c } from './crc32c.ts'

export const NODE_PLATFORM: RecordsPlatform = { crc32c: nodeCrc32c, compression: nodeCompression }
