/**
 * Clients that try again soon, and services that end with their test.
 */
import { Kafka, logLevel } from 'kafkajs'
import type { TestBroker } from 'ottla/testing'
import { afterEach } from 'vitest'

const ends: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

export function atEnd(end: () => Promise<unknown>): void {
  ends.push(end)
}

export function kafkaOf({ bootstrapServers }: TestBroker, clientId: string): Kafka {
  const retry = { initialRetryTime: 20, maxRetryTime: 200, retries: 50 }
  return new Kafka({ brokers: [bootstrapServers], clientId, logLevel: logLevel.NOTHING, retry })
}

/** A door that somebody waits behind until the test opens it. */
export class Door {
  #open = () => {}
  #reach = () => {}
  /** Resolves when somebody has come to it. */
  readonly reached = new Promise<void>(resolve => (this.#reach = resolve))
  readonly #opened = new Promise<void>(resolve => (this.#open = resolve))

  async pass(): Promise<void> {
    this.#reach()
    await this.#opened
  }

  open(): void {
    this.#open()
  }
}
