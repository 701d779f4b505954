/**
 * What record batches need, as Node has it: one value to hand to the pure part.
 */

import type { RecordsPlatform } from '../records/compression.ts'
import { nodeCompression } from './codecs.ts'
import { nodeCrc32c } from './crc32c.ts'

export const nodeRecordsPlatform: RecordsPlatform = { crc32c: nodeCrc32c, compression: nodeCompression }
