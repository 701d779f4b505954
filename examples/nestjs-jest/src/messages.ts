/**
 * What the two services say to each other over Kafka: a question with its answer, and an event.
 */

/** A question: the shop asks, pricing answers in `pricing.quote.reply`. */
export const QUOTE = 'pricing.quote'

export interface QuoteRequest {
  readonly article: string
  readonly count: number
}

export interface Quote {
  readonly cents: number
}

/** An event: it is said once, and whoever wants to know listens. */
export const ORDER_PLACED = 'order.placed'

export interface OrderPlaced {
  readonly id: string
  readonly customer: string
  readonly cents: number
}
