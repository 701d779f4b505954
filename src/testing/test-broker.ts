/**
 * The broker of a test: all that `startBroker` gives, and topics and groups to ask and to wait for.
 */
import { BrokerHandle, type StartedBroker } from '../node/broker-handle.ts'
import type { BrokerOptions } from '../node/options.ts'
import { reachBroker } from '../node/remote.ts'
import { launchBroker } from '../node/start-broker.ts'
import { TestGroup } from './test-group.ts'
import { TestTopic, type TopicSerdes } from './test-topic.ts'
import { type Told, toldBy } from './told.ts'
import { uniqueName } from './unique-name.ts'

export class TestBroker extends BrokerHandle {
  readonly #told: Told = toldBy(() => this.methods)

  /** A topic, there already or not; keys and values are text unless it is told how they are read. */
  topic<Value = string, Key = string>(name: string, serdes: TopicSerdes<Value, Key> = {}): TestTopic<Value, Key> {
    return new TestTopic(name, () => this.methods, this.#told, serdes)
  }

  group(groupId: string): TestGroup {
    return new TestGroup(groupId, () => this.methods, this.#told)
  }

  /** A name that no other test has, for topics and groups of tests that share a broker: `orders-3f2a9c41`. */
  unique(name: string): string {
    return uniqueName(name)
  }

  /** Takes the members of all groups out, as if they had said goodbye. Resolves with how many there were. */
  async evictMembers(): Promise<number> {
    return this.methods.evictMembers()
  }
}

/**
 * Starts a broker for tests: as `startBroker`, with what requests say kept for the trace, and members that are gone taken out of
 * their groups at once, unless the options say otherwise.
 *
 * @throws OttlaError as `startBroker` does.
 *
 * @example
 * await using broker = await startTestBroker({ topics: ['orders:3'] })
 * await broker.topic('orders', { value: json }).produce({ value: { id: 1 } })
 */
export async function startTestBroker(options: BrokerOptions = {}): Promise<TestBroker> {
  return new TestBroker(await launchBroker({ trace: true, evictDisconnected: true, ...options }))
}

/**
 * The same on a broker that another process has started with `http: { token }`. To close it only lets go of it.
 *
 * @throws OttlaError `OTTLA_NOT_REACHED` when nobody answers at `url`, or the token is another.
 */
export async function attachTestBroker(url: string, token: string): Promise<TestBroker> {
  const started: StartedBroker = await reachBroker(url, token)
  return new TestBroker(started)
}
