import { api, array, bool, int16, int32, int64, string, struct } from '../dsl.ts'

const describeLogDirsTopic = struct({
  name: string(),
  partitions: array(
    struct({
      partitionIndex: int32(),
      partitionSize: int64(),
      offsetLag: int64(),
      isFutureKey: bool(),
    }),
  ),
})

/**
 * Tells what lies in the log directories, and how large it is. Version 2 is flexible, 3 has an error of its own, 4
 * tells the size of the volume (KIP-827), 5 whether the directory is cordoned (KIP-1066).
 */
export const describeLogDirs = api({
  key: 35,
  name: 'DescribeLogDirs',
  versions: [1, 5],
  flexible: 2,
  request: struct({
    // Null asks for all.
    topics: array(
      struct({
        topic: string(),
        partitions: array(int32()),
      }),
    ).nullable(),
  }),
  response: struct({
    throttleTimeMs: int32(),
    errorCode: int16().since(3).ignorable(),
    results: array(
      struct({
        errorCode: int16(),
        logDir: string(),
        topics: array(describeLogDirsTopic),
        totalBytes: int64().since(4).default(-1).ignorable(),
        usableBytes: int64().since(4).default(-1).ignorable(),
        isCordoned: bool().since(5).ignorable(),
      }),
    ),
  }),
})
