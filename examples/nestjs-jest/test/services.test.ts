import 'reflect-metadata'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { INestApplication, INestMicroservice } from '@nestjs/common'
import type { MicroserviceOptions } from '@nestjs/microservices'
import { Test } from '@nestjs/testing'
import { json, matchers, type OttlaMatchers, useBroker } from 'ottla/testing'
import { type KafkaSettings, kafkaOptions } from '../src/kafka.ts'
import { ORDER_PLACED, type OrderPlaced, QUOTE } from '../src/messages.ts'
import { Points } from '../src/pricing/points.ts'
import { PricingModule } from '../src/pricing/pricing.module.ts'
import { ShopModule } from '../src/shop/shop.module.ts'

declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T> extends OttlaMatchers {}
}

expect.extend(matchers)
const kafka = useBroker(
  { beforeAll, afterAll, beforeEach, afterEach },
  { topics: [`${QUOTE}:1`, `${QUOTE}.reply:1`, `${ORDER_PLACED}:3`] },
)

let shop: INestApplication
let pricing: INestMicroservice

/** Clients that try again soon. */
function settings(): KafkaSettings {
  return {
    brokers: [kafka.broker.bootstrapServers],
    client: { retry: { initialRetryTime: 20, maxRetryTime: 200, retries: 50 }, logLevel: 0 },
    consumer: { heartbeatInterval: 100, maxWaitTimeInMs: 100 },
  }
}

async function startPricing(): Promise<INestMicroservice> {
  const module = await Test.createTestingModule({ imports: [PricingModule] }).compile()
  const service = module.createNestMicroservice<MicroserviceOptions>({
    ...kafkaOptions('pricing', settings()),
    logger: false,
  } as MicroserviceOptions)
  await service.listen()
  return service
}

async function startShop(patienceMs = 20_000): Promise<INestApplication> {
  const module = await Test.createTestingModule({ imports: [ShopModule.register(settings(), patienceMs)] }).compile()
  const app = module.createNestApplication({ logger: false })
  await app.listen(0, '127.0.0.1')
  return app
}

beforeEach(async () => {
  pricing = await startPricing()
  shop = await startShop()
})

afterEach(async () => {
  await shop.close()
  await pricing.close()
})

async function order(article: string, count: number): Promise<{ status: number; body: OrderPlaced }> {
  const response = await fetch(`${await shop.getUrl()}/orders`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ customer: 'ada', article, count }),
  })
  return { status: response.status, body: (await response.json()) as OrderPlaced }
}

function pointsOf(customer: string): number {
  return pricing.get(Points).of(customer)
}

it('asks for the price, answers, and gives points', async () => {
  const { status, body } = await order('book', 2)
  expect([status, body.cents]).toEqual([201, 3000])
  await expect(kafka.broker.topic(ORDER_PLACED, { value: json })).toHaveRecords([{ key: 'ada', value: body }])
  await kafka.broker.group('pricing-server').drained()
  expect(pointsOf('ada')).toBe(30)
})

it('refuses what pricing does not know, and what is no order', async () => {
  expect(await order('boat', 1)).toMatchObject({ status: 422, body: { message: 'there is no article boat' } })
  expect(await order('book', 0.5)).toMatchObject({ status: 400 })
  await expect(kafka.broker.topic(ORDER_PLACED)).toHaveRecords(0)
})

it('does not wait for ever for an answer, and is not confused by one that comes late', async () => {
  await shop.close()
  shop = await startShop(1000)
  const replies = await kafka.broker.hold({ api: 'Produce', topic: `${QUOTE}.reply`, times: 1 })
  expect(await order('book', 1)).toMatchObject({ status: 504 })
  expect(await replies.release()).toBe(1)
  // On a slow machine that one may come late as well; the customer tries again.
  let next = await order('pen', 1)
  while (next.status === 504) next = await order('pen', 1)
  expect(next).toMatchObject({ status: 201, body: { cents: 200 } })
})

it('says an order once, though its acknowledgement is lost', async () => {
  const { broker } = kafka
  const lost = await broker.fault({ api: 'Produce', topic: ORDER_PLACED, drop: true, acted: true, times: 1 })
  expect(await order('book', 1)).toMatchObject({ status: 201 })
  expect(await lost.count()).toBe(1)
  await expect(broker.topic(ORDER_PLACED)).toHaveRecords(1)
})

it('gives points once, though the event is delivered again after a lost commit', async () => {
  const { broker } = kafka
  const commits = await broker.hold({ api: 'OffsetCommit', group: 'pricing-server', topic: ORDER_PLACED })
  await order('book', 1)
  await commits.arrived(1)
  expect(pointsOf('ada')).toBe(15)
  // The coordinator gives up on it before the commit arrives; it joins again, and gets the event again.
  await broker.group('pricing-server').evict()
  await commits.release()
  await broker.group('pricing-server').drained()
  expect(pointsOf('ada')).toBe(15)
})

it('answers in the middle of rebalances', async () => {
  const { broker } = kafka
  await broker.rebalanceStorm('shop-client', { times: 3, everyMs: 200 })
  await broker.rebalanceStorm('pricing-server', { times: 3, everyMs: 200 })
  const answers = []
  for (let count = 1; count <= 10; count++) answers.push(await order('pen', count))
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201))
  expect(answers.map(({ body }) => body.cents)).toEqual([200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000])
  await broker.group('pricing-server').drained()
  expect(pointsOf('ada')).toBe(110)
})
