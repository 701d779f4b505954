/**
 * A client of a simulation as a process of its own on the simulated network. What it does and what it is told goes into the history.
 */

import { KafkaClient, type RecordData } from '../../../src/client/index.ts'
import { utf8Decode } from '../../../src/util/utf8.ts'
import type { VirtualEnv } from '../../../src/util/virtual-env.ts'
import { platform } from '../../broker/harness.ts'
import { BROKER_PORT } from '../broker-process.ts'
import type { Chance } from '../chance.ts'
import type { History } from '../history.ts'
import type { SimulatedNetwork } from '../network.ts'
import { ProcessEnv } from '../process-env.ts'

/** What all clients need. */
export interface ClientWorld {
  readonly world: VirtualEnv
  readonly network: SimulatedNetwork
  readonly history: History
  readonly brokerIds: readonly number[]
}

/** A process with a client in it. */
export class ClientProcess {
  readonly env: ProcessEnv
  readonly client: KafkaClient
  readonly #network: SimulatedNetwork

  constructor(name: string, { world, network, brokerIds }: ClientWorld, chance: Chance) {
    this.env = new ProcessEnv({ name, world, chance })
    this.#network = network
    this.client = new KafkaClient({
      env: this.env,
      transport: network.transport(this.env),
      bootstrap: brokerIds.map(id => ({ host: `broker-${id}`, port: BROKER_PORT })),
      platform,
      clientId: name,
      allowAutoTopicCreation: false,
      requestTimeoutMs: 1500,
      apiTimeoutMs: 20_000,
      retryBackoffMs: 30,
      retryBackoffMaxMs: 300,
      metadataMaxAgeMs: 5000,
    })
  }

  /** Calls something on the client from outside. */
  do<T>(run: () => T): T {
    let value: T | undefined
    this.env.enter(() => {
      value = run()
    })
    return value as T
  }

  /** Ends without a word. */
  kill(): void {
    this.env.kill()
    this.#network.processDied(this.env, 'kill')
  }

  close(): void {
    this.do(() => this.client.close())
  }
}

/** The id of a record: what its value begins with, or of a tombstone its header. */
export function idOf({ value, headers }: Pick<RecordData, 'value' | 'headers'>): string {
  const text = value ?? headers[0]?.value
  return text ? utf8Decode(text).split(' ', 1)[0] : ''
}
