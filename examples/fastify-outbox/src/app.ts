/**
 * The HTTP side: takes orders, and tells how many messages wait. It knows nothing of Kafka, and works while there is none.
 */
import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Database } from './database.ts'
import { Outbox } from './outbox.ts'

export const ORDERS = 'orders'

export interface Order {
  readonly id: string
  readonly customer: string
  readonly cents: number
}

export interface AppOptions {
  readonly db: Database
  /** Called when there is something in the outbox. */
  onMessage?(): void
}

const BODY = {
  type: 'object',
  required: ['customer', 'cents'],
  additionalProperties: false,
  properties: {
    id: { type: 'string', minLength: 1 },
    customer: { type: 'string', minLength: 1 },
    cents: { type: 'integer' },
  },
}

export function buildApp({ db, onMessage }: AppOptions): FastifyInstance {
  const app = Fastify()
  const outbox = new Outbox(db)

  const place = db.transaction((order: Order) => {
    outbox.add(ORDERS, order.customer, order)
    db.prepare('insert into orders (id, customer, cents) values (?, ?, ?)').run(order.id, order.customer, order.cents)
  })

  app.post<{ Body: Omit<Order, 'id'> & { id?: string } }>('/orders', { schema: { body: BODY } }, (request, reply) => {
    const order: Order = { id: randomUUID(), ...request.body }
    try {
      place(order)
    } catch (error) {
      // The database says no, and nothing of the order is left, in the outbox neither.
      if (!String((error as { code?: string }).code).startsWith('SQLITE_CONSTRAINT')) throw error
      return reply.code(409).send({ message: 'there is such an order, or it is none' })
    }
    onMessage?.()
    return reply.code(201).send(order)
  })

  app.get('/health', () => ({ waiting: outbox.count() }))
  return app
}
