/**
 * What goes through the topic `orders`, and how it is written and read there. Whatever was not made by this code is not trusted.
 */
export interface Order {
  readonly id: string
  readonly customer: string
  readonly cents: number
}

export const ORDERS = 'orders'

export function writeOrder(order: Order): string {
  return JSON.stringify(order)
}

/** @throws TypeError for what is no order. */
export function readOrder(value: Buffer | null): Order {
  const { id, customer, cents } = JSON.parse(String(value)) ?? {}
  if (typeof id !== 'string' || typeof customer !== 'string' || !Number.isSafeInteger(cents)) {
    throw new TypeError('not an order')
  }
  return { id, customer, cents }
}
