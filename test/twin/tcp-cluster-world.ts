import { Failed, type Target } from './names.ts'
import type { Fault } from './script.ts'
import { connectTo, TcpWorld } from './tcp-world.ts'
import type { Brokers, Line } from './world.ts'

/** Several brokers behind TCP, in real time: Ottla or Kafka. How something is done to one of them is for the one who plays to know. */
export class TcpClusterWorld extends TcpWorld implements Brokers {
  readonly brokers: Brokers = this
  /** Who does not run, and since what. */
  readonly down = new Map<number, Fault>()
  readonly #host: string
  readonly #ports: ReadonlyMap<number, number>
  readonly #befall: (fault: Fault, broker: number) => Promise<unknown>

  constructor({ host, port, brokers = [] }: Target, befall: (fault: Fault, broker: number) => Promise<unknown>) {
    super(host, port)
    this.#host = host
    this.#ports = new Map(brokers.map(broker => [broker.nodeId, broker.port]))
    this.#befall = befall
  }

  running(): number[] {
    return [...this.#ports.keys()].filter(broker => !this.down.has(broker)).sort()
  }

  override connect(broker = this.running()[0]): Promise<Line> {
    const port = this.#ports.get(broker)
    if (port === undefined) throw new Failed(`no broker ${broker}`)
    return connectTo(this.#host, port)
  }

  async befall(fault: Fault, broker: number): Promise<void> {
    await this.#befall(fault, broker)
    if (fault === 'restart' || fault === 'resume') this.down.delete(broker)
    else this.down.set(broker, fault)
  }
}
