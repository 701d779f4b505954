/**
 * What customers owe. Kafka delivers at least once, so the ledger is what makes it once: an order that is in it already changes
 * nothing. This one lives in memory; in a database it is a table whose primary key is the id of the order.
 */
import type { Order } from './order.ts'

export interface Ledger {
  /** Resolves with false when the order was there already. */
  bill(order: Order): Promise<boolean>
}

export class MemoryLedger implements Ledger {
  readonly orders = new Map<string, Order>()

  async bill(order: Order): Promise<boolean> {
    if (this.orders.has(order.id)) return false
    this.orders.set(order.id, order)
    return true
  }

  owedBy(customer: string): number {
    return [...this.orders.values()]
      .filter(order => order.customer === customer)
      .reduce((sum, { cents }) => sum + cents, 0)
  }
}
