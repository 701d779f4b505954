import { matchers, type OttlaMatchers, useBroker } from 'ottla/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { Billing, type BillingOptions, GROUP } from '../src/billing.ts'
import { type Ledger, MemoryLedger } from '../src/ledger.ts'
import { ORDERS, type Order } from '../src/order.ts'
import { Shop } from '../src/shop.ts'
import { atEnd, Door, kafkaOf } from './support.ts'

declare module 'vitest' {
  interface Matchers<T> extends OttlaMatchers {}
}

expect.extend(matchers)
const kafka = useBroker(
  { beforeAll, afterAll, beforeEach, afterEach },
  {
    // Orders are kept for good: the ledger can be made anew from them.
    topics: [{ name: ORDERS, partitions: 2, configs: { 'retention.ms': -1 } }],
    time: 'virtual',
  },
)

async function openShop(): Promise<Shop> {
  const shop = new Shop(kafkaOf(kafka.broker, 'shop'))
  await shop.open()
  atEnd(() => shop.close())
  return shop
}

async function startBilling(clientId: string, ledger: Ledger, options: Partial<BillingOptions> = {}): Promise<Billing> {
  // A heartbeat after each order, so that nothing depends on how long an order takes.
  const consumer = { heartbeatInterval: 0, maxWaitTimeInMs: 100 }
  const billing = new Billing({ kafka: kafkaOf(kafka.broker, clientId), ledger, consumer, ...options })
  await billing.start()
  atEnd(() => billing.stop())
  return billing
}

function ordersOf(customer: string, count: number): Order[] {
  return Array.from({ length: count }, (_, index) => ({ id: `${customer}-${index}`, customer, cents: 100 }))
}

/** The same ledger, reached through a door. */
function behind(door: Door, ledger: Ledger, isHeld: (order: Order) => boolean): Ledger {
  return {
    async bill(order) {
      if (isHeld(order)) await door.pass()
      return ledger.bill(order)
    },
  }
}

it('bills every order', async () => {
  const ledger = new MemoryLedger()
  await startBilling('billing', ledger)
  const shop = await openShop()
  await shop.place(...ordersOf('ada', 3), ...ordersOf('bob', 2))
  await kafka.broker.group(GROUP).drained()
  expect([ledger.owedBy('ada'), ledger.owedBy('bob')]).toEqual([300, 200])
})

it('passes over what is no order, and says so', async () => {
  const ledger = new MemoryLedger()
  const reasons: string[] = []
  await startBilling('billing', ledger, { onRejected: (_, { message }) => void reasons.push(message) })
  await kafka.broker.topic(ORDERS).produce({ key: 'ada', value: '{"id":7}' }, { key: 'ada', value: null })
  const shop = await openShop()
  await shop.place(...ordersOf('ada', 1))
  await kafka.broker.group(GROUP).drained()
  expect(reasons).toEqual(['not an order', 'not an order'])
  expect(ledger.owedBy('ada')).toBe(100)
})

it('places an order once, though its acknowledgement is lost', async () => {
  const { broker } = kafka
  const shop = await openShop()
  const fault = await broker.fault({ api: 'Produce', topic: ORDERS, drop: true, acted: true, times: 1 })
  await shop.place(...ordersOf('ada', 1))
  expect(await fault.count()).toBe(1)
  await expect(broker.topic(ORDERS)).toHaveRecords(1)
})

it('gives up the rest of a batch when a rebalance comes in the middle of it', async () => {
  const { broker } = kafka
  const ledger = new MemoryLedger()
  const shop = await openShop()
  await shop.place(...ordersOf('ada', 10), ...ordersOf('bob', 10))

  // The first consumer has billed two orders of its batch when the second comes.
  const door = new Door()
  let billedByFirst = 0
  const first = behind(door, ledger, () => ++billedByFirst === 3)
  await startBilling('first', first)
  await door.reached
  const starting = startBilling('second', ledger)
  await broker.group(GROUP).rebalancing()
  door.open()
  await starting

  const group = broker.group(GROUP)
  await group.stable({ members: 2 })
  await group.drained()
  expect([ledger.owedBy('ada'), ledger.owedBy('bob')]).toEqual([1000, 1000])
  // The rest went to both: the first did not work through a batch that was no longer its own.
  expect(billedByFirst).toBeLessThan(20)
})

it('bills nobody twice when a consumer that was thought dead comes back to commit', async () => {
  const { broker } = kafka
  const ledger = new MemoryLedger()
  const shop = await openShop()
  await shop.place(...ordersOf('ada', 5))

  const commits = await broker.hold({ api: 'OffsetCommit', group: GROUP, clientId: 'first' })
  await startBilling('first', ledger)
  await commits.arrived(1)
  // All five are in the ledger, and nobody knows. Now the coordinator gives up on the first.
  expect(ledger.owedBy('ada')).toBe(500)
  await broker.group(GROUP).evict()
  await startBilling('second', ledger)
  await broker.group(GROUP).drained()
  await commits.release()

  expect(ledger.owedBy('ada')).toBe(500)
  await broker.group(GROUP).stable({ members: 2 })
  const [late] = await broker.requests({ api: 'OffsetCommit', clientId: 'first', failed: true })
  expect(late?.errorCodes).toEqual(['UNKNOWN_MEMBER_ID'])
})

it('survives three rebalances within a second', async () => {
  const { broker } = kafka
  const ledger = new MemoryLedger()
  await startBilling('first', ledger)
  await startBilling('second', ledger)
  await broker.group(GROUP).stable({ members: 2 })
  const shop = await openShop()
  await broker.rebalanceStorm(GROUP, { times: 3, everyMs: 300 })
  for (const order of [...ordersOf('ada', 20), ...ordersOf('bob', 20)]) await shop.place(order)
  await broker.group(GROUP).drained()
  expect([ledger.owedBy('ada'), ledger.owedBy('bob')]).toEqual([2000, 2000])
})

it('bills nobody again after eight days of holidays, though Kafka has forgotten what was read', async () => {
  const { broker } = kafka
  const ledger = new MemoryLedger()
  const shop = await openShop()
  const billing = await startBilling('billing', ledger)
  await shop.place(...ordersOf('ada', 3))
  await broker.group(GROUP).drained()
  await billing.stop()

  // offsets.retention.minutes is seven days: the offsets of a group that nobody is in are gone then.
  await broker.advance('8d')
  expect((await broker.group(GROUP).view()).state).toBe('Dead')
  await shop.place({ id: 'late', customer: 'ada', cents: 1 })
  await startBilling('billing', ledger)
  await broker.group(GROUP).drained()
  expect(ledger.owedBy('ada')).toBe(301)
})
