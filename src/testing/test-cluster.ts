/**
 * The cluster of a test: all that `startCluster` gives, and topics and groups to ask and to wait for, as those of one broker.
 */
import { ClusterHandle } from '../node/cluster-handle.ts'
import type { ClusterOptions } from '../node/cluster-options.ts'
import type { ClusterTopic } from '../node/running-cluster.ts'
import { launchCluster } from '../node/start-cluster.ts'
import { TestGroup } from './test-group.ts'
import { TestTopic, type TopicSerdes } from './test-topic.ts'
import { type Told, toldBy } from './told.ts'
import { uniqueName } from './unique-name.ts'

export class TestCluster extends ClusterHandle {
  readonly #told: Told = toldBy(() => this.methods)

  /** A topic, there already or not: its records, and who leads it and is in sync. Keys and values are text unless it is told how they are read. */
  override topic<Value = string, Key = string>(
    name: string,
    serdes: TopicSerdes<Value, Key> = {},
  ): TestTopic<Value, Key> & ClusterTopic {
    return Object.assign(new TestTopic(name, () => this.methods, this.#told, serdes), super.topic(name))
  }

  group(groupId: string): TestGroup {
    return new TestGroup(groupId, () => this.methods, this.#told)
  }

  /** A name that no other test has, for topics and groups of tests that share a cluster: `orders-3f2a9c41`. */
  unique(name: string): string {
    return uniqueName(name)
  }

  /** Takes the members of all groups out, as if they had said goodbye. Resolves with how many there were. */
  async evictMembers(): Promise<number> {
    return this.methods.evictMembers()
  }
}

/**
 * Starts a cluster for tests: as `startCluster`, with what requests say kept for the trace, and members that are gone taken out of their groups
 * at once, unless the options say otherwise.
 *
 * @throws OttlaError as `startCluster` does.
 *
 * @example
 * await using cluster = await startTestCluster({ brokers: 3 })
 * await cluster.topic('orders').produce({ value: 'a book' })
 * await cluster.broker(1).kill()
 * await cluster.settled()
 * await expect(cluster.topic('orders')).toHaveRecords(['a book'])
 */
export async function startTestCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  return launchCluster({ trace: true, evictDisconnected: true, ...options }, parts => new TestCluster(parts))
}
