/**
 * The points of customers, one for each euro. In a database the ids of orders are a unique column.
 */
import { Injectable } from '@nestjs/common'
import type { OrderPlaced } from '../messages.ts'

@Injectable()
export class Points {
  readonly #given = new Map<string, OrderPlaced>()

  /** Changes nothing when the order has given its points already. */
  async give(order: OrderPlaced): Promise<void> {
    if (!this.#given.has(order.id)) this.#given.set(order.id, order)
  }

  of(customer: string): number {
    return [...this.#given.values()]
      .filter(order => order.customer === customer)
      .reduce((sum, { cents }) => sum + Math.floor(cents / 100), 0)
  }
}
