/** Apache Kafka's Java clients, in a program written with them (`Driver.java`); the tools are in `client.ts`. */
import { fileURLToPath } from 'node:url'
import { runProgram } from '../child.ts'
import type { FailoverClient } from '../client.ts'
import { jsonVerbs } from '../json-client.ts'
import { scratchPath } from '../scratch.ts'
import { pathOfArchive } from './archive.ts'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
let jars = ''
let archive = ''

export const javaProgram: FailoverClient = {
  name: 'Java program',
  lacks: {},
  requests: {
    versions: {
      ApiVersions: [5],
      Metadata: [13],
      Produce: [13],
      InitProducerId: [5],
      Fetch: [18],
      ListOffsets: [11],
      FindCoordinator: [6],
      JoinGroup: [9],
      SyncGroup: [5],
      Heartbeat: [4],
      LeaveGroup: [5],
      OffsetCommit: [9],
      OffsetFetch: [9],
      CreateTopics: [7],
      DeleteTopics: [6],
      OffsetForLeaderEpoch: [4],
      DescribeCluster: [2],
      DescribeTopicPartitions: [0],
    },
    connections: { produce: 2, read: 2, member: 3, admin: 3 },
  },

  async probe() {
    const compiler = await runProgram('javac', ['--version']).catch(() => undefined)
    if (!compiler) return { missing: 'javac is not installed (Debian: apt-get install openjdk-17-jdk-headless)' }
    try {
      const [line] = await runProgram(path('../../oracle/kafka'), ['classpath'], { timeoutMs: 240_000 })
      jars = line
      archive = await pathOfArchive()
      const to = ['-d', scratchPath('java'), '-cp', jars]
      await runProgram('javac', [...to, path('Driver.java')], { timeoutMs: 60_000 })
    } catch (error) {
      return { missing: String(error).split('\n').slice(1).join(' ').trim() }
    }
    return { version: `kafka-clients ${/kafka-clients-([\d.]+)\.jar/.exec(await listJars())?.[1]}` }
  },

  ...jsonVerbs(() => [
    'java',
    // A program that lives for a second or two has no use for the second compiler.
    ...['-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto'],
    ...[
      `-XX:SharedArchiveFile=${archive}`,
      '-Xlog:disable',
      `-Dlog4j2.configurationFile=${path('../../oracle/log4j2.xml')}`,
      '-cp',
      // The jars come first, as in the archive.
      `${jars}:${scratchPath('java')}`,
      'Driver',
    ],
  ]),
}

async function listJars(): Promise<string> {
  return (await runProgram('ls', [jars.replace(/\/\*$/, '')])).join(' ')
}
