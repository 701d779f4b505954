/**
 * The outbox: what is to be said is written in the transaction that makes it true. Either both are there or neither, whatever
 * happens to Kafka or to this process.
 */
import type { Database } from './database.ts'

/** A message that waits to be sent. */
export interface OutboxMessage {
  readonly id: number
  readonly topic: string
  readonly key: string
  readonly value: string
}

export class Outbox {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** To be called within a transaction. */
  add(topic: string, key: string, value: unknown): void {
    this.#db.prepare('insert into outbox (topic, key, value) values (?, ?, ?)').run(topic, key, JSON.stringify(value))
  }

  /** The oldest that are not marked as sent, in their order. */
  unsent(limit: number): OutboxMessage[] {
    const statement = this.#db.prepare('select id, topic, key, value from outbox where sent = 0 order by id limit ?')
    return statement.all(limit) as OutboxMessage[]
  }

  count(): number {
    const { waiting } = this.#db.prepare('select count(*) as waiting from outbox where sent = 0').get() as {
      waiting: number
    }
    return waiting
  }

  markSent(messages: readonly OutboxMessage[]): void {
    const update = this.#db.prepare('update outbox set sent = 1 where id = ?')
    this.#db.transaction(() => {
      for (const { id } of messages) update.run(id)
    })()
  }
}
