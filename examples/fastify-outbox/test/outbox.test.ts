import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { Kafka, logLevel } from 'kafkajs'
import { json, matchers, type OttlaMatchers, useBroker } from 'ottla/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { buildApp, ORDERS } from '../src/app.ts'
import { type Database, openDatabase } from '../src/database.ts'
import { Outbox } from '../src/outbox.ts'
import { Relay } from '../src/relay.ts'
import { GROUP, Shipping } from '../src/shipping.ts'

declare module 'vitest' {
  interface Matchers<T> extends OttlaMatchers {}
}

expect.extend(matchers)
const kafka = useBroker({ beforeAll, afterAll, beforeEach, afterEach }, { topics: [`${ORDERS}:1`] })

let directory: string
let db: Database
let app: FastifyInstance
let wake = () => {}
const ends: (() => Promise<unknown>)[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'outbox-'))
  db = openDatabase(join(directory, 'shop.db'))
  wake = () => {}
  app = buildApp({ db, onMessage: () => wake() })
})

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await app.close()
  db.close()
  rmSync(directory, { recursive: true, force: true })
})

function client(clientId: string, retries: number): Kafka {
  const retry = { initialRetryTime: 20, maxRetryTime: 100, retries }
  return new Kafka({ brokers: [kafka.broker.bootstrapServers], clientId, logLevel: logLevel.NOTHING, retry })
}

function startRelay({ retries = 50 } = {}): { errors: Error[] } {
  const errors: Error[] = []
  const relay = new Relay({
    kafka: client('relay', retries),
    outbox: new Outbox(db),
    pauseMs: 20,
    onError: error => void errors.push(error),
  })
  wake = () => relay.wake()
  relay.start()
  ends.push(() => relay.stop())
  return { errors }
}

async function startShipping(): Promise<void> {
  const shipping = new Shipping(client('shipping', 50), db, { heartbeatInterval: 100, maxWaitTimeInMs: 100 })
  await shipping.start()
  ends.push(() => shipping.stop())
}

async function place(id: string, cents = 100): Promise<number> {
  const { statusCode } = await app.inject({ method: 'POST', url: '/orders', body: { id, customer: 'ada', cents } })
  return statusCode
}

async function waiting(): Promise<number> {
  return (await app.inject('/health')).json().waiting
}

function shipped(): string[] {
  const rows = db.prepare('select order_id from shipments order by rowid').all() as { order_id: string }[]
  return rows.map(row => row.order_id)
}

it('says what was ordered, in its order', async () => {
  startRelay()
  await startShipping()
  for (const id of ['a', 'b', 'c']) expect(await place(id)).toBe(201)
  await expect(kafka.broker.topic(ORDERS, { value: json })).toHaveRecords([
    { key: 'ada', value: { id: 'a', customer: 'ada', cents: 100 }, headers: { 'message-id': '1' } },
    { value: expect.objectContaining({ id: 'b' }) },
    { value: expect.objectContaining({ id: 'c' }) },
  ])
  await kafka.broker.group(GROUP).drained()
  expect(shipped()).toEqual(['a', 'b', 'c'])
})

it('says nothing of an order that the database refuses', async () => {
  startRelay()
  expect([await place('a'), await place('a'), await place('b', -5), await place('c')]).toEqual([201, 409, 409, 201])
  expect((await app.inject({ method: 'POST', url: '/orders', body: { cents: 1 } })).statusCode).toBe(400)
  await expect(kafka.broker.topic(ORDERS)).toHaveRecords(2)
  await expect.poll(waiting).toBe(0)
})

it('says it once, though the acknowledgement is lost', async () => {
  const lost = await kafka.broker.fault({ api: 'Produce', topic: ORDERS, drop: true, acted: true, times: 1 })
  startRelay()
  await place('a')
  await expect.poll(waiting).toBe(0)
  expect(await lost.count()).toBe(1)
  await expect(kafka.broker.topic(ORDERS)).toHaveRecords(1)
})

it('takes orders while the disk of the broker is full, and sends them later', async () => {
  const full = await kafka.broker.diskFull()
  startRelay()
  for (const id of ['a', 'b', 'c']) expect(await place(id)).toBe(201)
  await full.met(2)
  expect(await waiting()).toBe(3)
  await full.end()
  await expect(kafka.broker.topic(ORDERS)).toHaveRecords(3)
  await expect.poll(waiting).toBe(0)
})

it('loses no order when the producer gives up after its acknowledgements were lost', async () => {
  // Three tries, and each is appended or known to be: the relay hears of none.
  const lost = await kafka.broker.fault({ api: 'Produce', topic: ORDERS, drop: true, acted: true, times: 3 })
  await place('a')
  const { errors } = startRelay({ retries: 2 })
  await lost.met(1)
  // By the time of the next try the outbox has more, which must not be taken for what was sent before.
  await place('b')
  await expect.poll(waiting).toBe(0)
  expect(errors.length).toBeGreaterThan(0)
  await startShipping()
  await kafka.broker.group(GROUP).drained()
  expect(shipped()).toEqual(['a', 'b'])
})

it('ships once what a relay sent that was killed before it could mark it', async () => {
  const { broker } = kafka
  await place('a')
  await place('b')
  // The service in a process of its own: its messages are in Kafka, and their acknowledgement does not come.
  const produce = await broker.hold({ api: 'Produce', topic: ORDERS, acted: true, times: 1 })
  const service = spawn(
    process.execPath,
    ['--import', 'tsx', fileURLToPath(new URL('../src/main.ts', import.meta.url))],
    {
      env: { ...process.env, KAFKA_BROKERS: broker.bootstrapServers, DATABASE: join(directory, 'shop.db'), PORT: '0' },
      stdio: 'ignore',
    },
  )
  ends.push(async () => service.kill('SIGKILL'))
  await produce.arrived(1)
  service.kill('SIGKILL')

  startRelay()
  await expect.poll(waiting).toBe(0)
  const records = await broker.topic(ORDERS).records()
  expect(records.map(({ headers }) => headers['message-id'])).toEqual(['1', '2', '1', '2'])
  await startShipping()
  await broker.group(GROUP).drained()
  expect(shipped()).toEqual(['a', 'b'])
})
