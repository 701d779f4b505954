import type { BrokerNode } from '../../src/cluster/broker-node.ts'
import { Cluster } from '../../src/cluster/index.ts'
import { MemoryStorage } from '../../src/storage/memory-storage.ts'
import type { Later } from '../../src/util/later.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { platform } from '../broker/harness.ts'
import { Failed } from './names.ts'
import type { Fault } from './script.ts'
import { VirtualLine } from './virtual-world.ts'
import type { Brokers, Line, World } from './world.ts'

/** Three brokers of their own in virtual time, without sockets. What is killed loses nothing that it had written, as with SIGKILL. */
export class VirtualClusterWorld implements World, Brokers {
  readonly brokers: Brokers = this
  readonly env = new VirtualEnv()
  readonly #cluster: Cluster

  constructor(configs: Record<string, string>) {
    const { env } = this
    const storage = () => new MemoryStorage({ turns: env.turns })
    this.#cluster = new Cluster({
      env,
      brokers: IDS.map(id => ({ id, storage: storage(), platform, rack: `r${id}` })),
      controllerStorage: storage(),
      configs,
      onFatal: error => {
        throw error
      },
    })
    for (const id of IDS) this.#cluster.broker(id).register('localhost', portOf(id))
    env.advance(1000)
  }

  now(): number {
    return this.env.now()
  }

  random(): number {
    return this.env.random()
  }

  async sleep(ms: number): Promise<void> {
    this.env.advance(ms)
  }

  running(): number[] {
    return IDS.filter(id => this.#cluster.node(id).state === 'running')
  }

  async connect(broker = this.running()[0]): Promise<Line> {
    if (!this.#cluster.node(broker).isUp) throw new Failed(`broker ${broker} does not run`)
    return new VirtualLine(this.env, this.#cluster.broker(broker), `localhost:${portOf(broker)}`)
  }

  async befall(fault: Fault, broker: number): Promise<void> {
    const node = this.#cluster.node(broker)
    if (fault === 'kill') node.kill()
    else if (fault === 'stop') this.#stop(node)
    else if (fault === 'restart') this.#until(node.start())
    else if (fault === 'pause') node.pause()
    else node.resume()
    this.env.settle()
  }

  /** The logs are closed by whoever owns the storage, as `startCluster` does it. */
  #stop(node: BrokerNode): void {
    this.#until(node.stop())
    const { replicas, brokerEpoch } = node.broker
    this.#until(replicas.directory.close(brokerEpoch))
  }

  #until(later: Later<unknown>): void {
    for (let waited = 0; !later.settled; waited += STEP_MS) {
      if (waited > LONGEST_MS) throw new Failed('the broker does not start or stop')
      this.env.advance(STEP_MS)
    }
  }
}

const IDS = [1, 2, 3]
const STEP_MS = 100
const LONGEST_MS = 60_000

function portOf(id: number): number {
  return 9091 + id
}
