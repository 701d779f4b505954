import { Kafka, logLevel } from 'kafkajs'
import { json, matchers, type OttlaMatchers, useBroker } from 'ottla/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { type Bank, chargeWith, GROUP, PAYMENTS, type Payment } from '../src/payments.ts'
import { RetryPlan } from '../src/retry-plan.ts'
import { RetryingConsumer } from '../src/retrying-consumer.ts'

declare module 'vitest' {
  interface Matchers<T> extends OttlaMatchers {}
}

expect.extend(matchers)
const { retryTopics, deadLetterTopic } = new RetryPlan(PAYMENTS)
const [inAMinute, inAnHour, inADay] = retryTopics as [string, string, string]
// The topics for what waits are the service's own affair.
const kafka = useBroker({ beforeAll, afterAll, beforeEach, afterEach }, { topics: [`${PAYMENTS}:2`], time: 'virtual' })

/** A bank that can be closed. */
class TestBank implements Bank {
  readonly charged = new Map<string, Payment>()
  calls = 0
  open = true

  async charge(payment: Payment, idempotencyKey: string): Promise<'charged' | 'no such account'> {
    this.calls++
    if (payment.account === 'nobody') return 'no such account'
    if (!this.open && payment.account === 'ada') throw new Error('the bank is closed')
    this.charged.set(idempotencyKey, payment)
    return 'charged'
  }

  get sum(): number {
    return [...this.charged.values()].reduce((sum, { cents }) => sum + cents, 0)
  }
}

let bank: TestBank
/** How far the clock of the service is ahead, as that of the broker. */
let aheadMs: number
const ends: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  bank = new TestBank()
  aheadMs = (await kafka.broker.now()) - Date.now()
})

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** Lets time pass, for the broker and for the service. */
async function pass(time: string): Promise<void> {
  await kafka.broker.advance(time)
  aheadMs = (await kafka.broker.now()) - Date.now()
}

async function startConsumer(clientId = 'payments'): Promise<RetryingConsumer> {
  const retry = { initialRetryTime: 20, maxRetryTime: 200, retries: 50 }
  const consumer = new RetryingConsumer({
    kafka: new Kafka({ brokers: [kafka.broker.bootstrapServers], clientId, logLevel: logLevel.NOTHING, retry }),
    groupId: GROUP,
    topic: PAYMENTS,
    handler: chargeWith(bank),
    clock: { now: () => Date.now() + aheadMs },
    lookMs: 10,
    consumer: { heartbeatInterval: 0, maxWaitTimeInMs: 100 },
  })
  await consumer.start()
  ends.push(() => consumer.stop())
  return consumer
}

async function pay(account: string, cents: number): Promise<void> {
  await kafka.broker.topic(PAYMENTS, { value: json }).produce({ key: account, value: { account, cents } })
}

it('charges what is to be paid', async () => {
  await startConsumer()
  await pay('ada', 100)
  await pay('bob', 20)
  await kafka.broker.group(GROUP).drained()
  expect(bank.sum).toBe(120)
})

it('does not let others wait for a payment that fails', async () => {
  bank.open = false
  await startConsumer()
  await pay('ada', 100)
  await pay('bob', 20)
  await kafka.broker.group(GROUP).drained({ topic: PAYMENTS })
  expect(bank.sum).toBe(20)
  await expect(kafka.broker.topic(inAMinute)).toHaveRecords([
    { key: 'ada', headers: expect.objectContaining({ attempts: '1', error: 'the bank is closed' }) },
  ])
})

it('tries again after a minute, an hour and a day, and no sooner', async () => {
  bank.open = false
  await startConsumer()
  await pay('ada', 100)
  await expect(kafka.broker.topic(inAMinute)).toHaveRecords(1)
  await pass('30s')
  expect(bank.calls).toBe(1)
  await pass('30s')
  await expect(kafka.broker.topic(inAnHour)).toHaveRecords(1)
  await pass('1h')
  await expect(kafka.broker.topic(inADay)).toHaveRecords(1)
  expect(bank.calls).toBe(3)

  bank.open = true
  await pass('1d')
  await kafka.broker.group(GROUP).drained()
  expect([bank.calls, bank.sum]).toEqual([4, 100])
  await expect(kafka.broker.topic(deadLetterTopic)).toHaveRecords(0)
})

it('gives up after a day, and says why', async () => {
  bank.open = false
  await startConsumer()
  await pay('ada', 100)
  for (const [topic, time] of [
    [inAMinute, '1m'],
    [inAnHour, '1h'],
    [inADay, '1d'],
  ] as const) {
    await expect(kafka.broker.topic(topic)).toHaveRecords(1)
    await pass(time)
  }
  await expect(kafka.broker.topic(deadLetterTopic, { value: json })).toHaveRecords([
    {
      key: 'ada',
      value: { account: 'ada', cents: 100 },
      headers: { origin: expect.stringMatching(/^payments-\d-0$/), attempts: '4', error: 'the bank is closed' },
    },
  ])
})

it('does not try again what is hopeless', async () => {
  await startConsumer()
  await pay('nobody', 100)
  await kafka.broker.topic(PAYMENTS).produce({ key: 'eve', value: 'give me money' })
  await kafka.broker.group(GROUP).drained()
  const letters = await kafka.broker.topic(deadLetterTopic).records({ count: 2 })
  expect(letters.map(({ key, headers }) => `${key}: ${headers.error}`).sort()).toEqual([
    'eve: not a payment',
    'nobody: no such account',
  ])
})

it('keeps what waits through ten days without anybody', async () => {
  bank.open = false
  const consumer = await startConsumer()
  await pay('ada', 100)
  await expect(kafka.broker.topic(inAMinute)).toHaveRecords(1)
  await consumer.stop()
  await pass('10d')
  bank.open = true
  await startConsumer()
  await kafka.broker.group(GROUP).drained({ topic: inAMinute })
  expect(bank.sum).toBe(100)
})

it('puts a payment aside once, though the acknowledgement is lost', async () => {
  bank.open = false
  const lost = await kafka.broker.fault({ api: 'Produce', topic: inAMinute, drop: true, acted: true, times: 1 })
  await startConsumer()
  await pay('ada', 100)
  await kafka.broker.group(GROUP).drained({ topic: PAYMENTS })
  expect(await lost.count()).toBe(1)
  await expect(kafka.broker.topic(inAMinute)).toHaveRecords(1)
})

it('charges once, though it was thought dead before it could commit', async () => {
  const { broker } = kafka
  const commits = await broker.hold({ api: 'OffsetCommit', group: GROUP, clientId: 'first' })
  await pay('ada', 100)
  await startConsumer('first')
  await commits.arrived(1)
  await broker.group(GROUP).evict()
  await startConsumer('second')
  await broker.group(GROUP).drained()
  await commits.end()
  expect([bank.calls, bank.sum]).toEqual([2, 100])
})

it('waits at a payment that it cannot put aside', async () => {
  const { broker } = kafka
  const full = await broker.fault({ api: 'Produce', topic: deadLetterTopic, error: 'KAFKA_STORAGE_ERROR' })
  await startConsumer()
  await pay('nobody', 100)
  await full.met(3)
  expect(await broker.group(GROUP).lag({ topic: PAYMENTS })).toBe(1)
  await full.end()
  await expect(broker.topic(deadLetterTopic)).toHaveRecords(1)
  await broker.group(GROUP).drained()
})

it('keeps its appointments through rebalances', async () => {
  const { broker } = kafka
  bank.open = false
  await startConsumer('first')
  await pay('ada', 100)
  await expect(broker.topic(inAMinute)).toHaveRecords(1)
  // The one that waits may have to hand its partition over, and whoever gets it waits on.
  await startConsumer('second')
  await broker.rebalanceStorm(GROUP, { times: 3, everyMs: 100 })
  await pass('30s')
  await broker.group(GROUP).stable({ members: 2 })
  expect(bank.calls).toBe(1)
  bank.open = true
  await pass('30s')
  await broker.group(GROUP).drained()
  expect([bank.calls, bank.sum]).toEqual([2, 100])
})
