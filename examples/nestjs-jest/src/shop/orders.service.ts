/**
 * Takes orders: asks pricing what they cost, and says that they were placed.
 */
import { randomUUID } from 'node:crypto'
import {
  GatewayTimeoutException,
  Inject,
  Injectable,
  type OnApplicationShutdown,
  type OnModuleInit,
  ServiceUnavailableException,
  UnprocessableEntityException,
} from '@nestjs/common'
import { ClientKafka } from '@nestjs/microservices'
import { firstValueFrom, TimeoutError, timeout } from 'rxjs'
import { ORDER_PLACED, type OrderPlaced, QUOTE, type Quote, type QuoteRequest } from '../messages.ts'

export const CLIENT = Symbol('kafka client')
/** How long pricing may think, in milliseconds. */
export const PATIENCE_MS = Symbol('patience')

@Injectable()
export class OrdersService implements OnModuleInit, OnApplicationShutdown {
  constructor(
    @Inject(CLIENT) private readonly client: ClientKafka,
    @Inject(PATIENCE_MS) private readonly patienceMs: number,
  ) {}

  async onModuleInit(): Promise<void> {
    this.client.subscribeToResponseOf(QUOTE)
    await this.client.connect()
  }

  async onApplicationShutdown(): Promise<void> {
    await this.client.close()
  }

  async place(customer: string, request: QuoteRequest): Promise<OrderPlaced> {
    const { cents } = await this.#quote(request)
    const order: OrderPlaced = { id: randomUUID(), customer, cents }
    // Resolves when it is in Kafka, so that whoever gets the answer can rely on it.
    await firstValueFrom(this.client.emit(ORDER_PLACED, { key: customer, value: order }), { defaultValue: undefined })
    return order
  }

  async #quote(request: QuoteRequest): Promise<Quote> {
    try {
      const asking = this.client.send<Quote, QuoteRequest>(QUOTE, request).pipe(timeout(this.patienceMs))
      return await firstValueFrom(asking)
    } catch (error) {
      if (error instanceof TimeoutError) throw new GatewayTimeoutException('nobody knows the price at the moment')
      if (error instanceof Error) throw new ServiceUnavailableException(error.message)
      // What pricing threw arrives as it was put into the reply.
      throw new UnprocessableEntityException(error)
    }
  }
}
