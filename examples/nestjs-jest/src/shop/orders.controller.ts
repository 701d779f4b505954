import { BadRequestException, Body, Controller, Post } from '@nestjs/common'
import type { OrderPlaced } from '../messages.ts'
import { OrdersService } from './orders.service.ts'

@Controller('orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  async place(@Body() body: unknown): Promise<OrderPlaced> {
    const { customer, article, count } = (body ?? {}) as Record<string, unknown>
    if (typeof customer !== 'string' || typeof article !== 'string' || !Number.isSafeInteger(count)) {
      throw new BadRequestException('an order has a customer, an article and a count')
    }
    return this.orders.place(customer, { article, count: count as number })
  }
}
