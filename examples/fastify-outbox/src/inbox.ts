/**
 * The inbox: what a message does is done in the transaction that notes its id, so a message that comes twice does it once.
 */
import type { Database } from './database.ts'

export class Inbox {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Runs `act` unless the message was there before; says whether it did. */
  once(messageId: string, act: () => void): boolean {
    return this.#db.transaction(() => {
      const { changes } = this.#db.prepare('insert or ignore into inbox (message_id) values (?)').run(messageId)
      if (changes === 0) return false
      act()
      return true
    })()
  }
}
