/**
 * Answers what something costs, and keeps the points that customers get for what they ordered. Kafka may deliver an event twice; an
 * order gives its points once.
 */
import { Controller } from '@nestjs/common'
import { EventPattern, MessagePattern, Payload, RpcException } from '@nestjs/microservices'
import { ORDER_PLACED, type OrderPlaced, QUOTE, type Quote, type QuoteRequest } from '../messages.ts'
import { Points } from './points.ts'

const CENTS: Readonly<Record<string, number>> = { book: 1500, pen: 200 }

@Controller()
export class PricingController {
  constructor(private readonly points: Points) {}

  @MessagePattern(QUOTE)
  quote(@Payload() { article, count }: QuoteRequest): Quote {
    const cents = CENTS[article]
    if (cents === undefined) throw new RpcException(`there is no article ${article}`)
    return { cents: cents * count }
  }

  @EventPattern(ORDER_PLACED)
  async orderPlaced(@Payload() order: OrderPlaced): Promise<void> {
    await this.points.give(order)
  }
}
