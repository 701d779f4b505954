import { request } from 'node:http'
import { expect, it } from 'vitest'
import { startBroker } from '../../src/node/index.ts'
import { attachBroker } from '../../src/node/remote.ts'
import { adminOf, atEnd, producerOf, start } from './support.ts'

const TOKEN = 'a-token-of-this-test'

/** One call by hand; `fetch` lets nobody set the Host header. */
function call(url: string, headers: Record<string, string>, method = 'POST'): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(`${url}/control/reset`, { method, headers }, response => resolve(response.statusCode))
    call.on('error', reject)
    call.end(method === 'POST' ? '[]' : undefined)
  })
}

it('drives a broker of another process: faults, time, state, with the same handle', async () => {
  const broker = await start({ time: 'virtual', topics: ['orders:1'], http: { token: TOKEN }, worker: true })
  const remote = await attachBroker(broker.http as string, TOKEN)
  expect(remote.bootstrapServers).toBe(broker.bootstrapServers)
  const producer = await producerOf(broker)
  const gate = await remote.hold('Produce')
  const sent = producer.send({ topic: 'orders', messages: [{ value: 'a' }] })
  await gate.arrived(1)
  await gate.release()
  await sent
  const snapshot = await remote.snapshot()
  await remote.advance('8d')
  await remote.restore(snapshot)
  const admin = await adminOf(broker)
  expect(await admin.fetchTopicOffsets('orders')).toMatchObject([{ low: '0', high: '1' }])
  await expect(remote.advance('soon')).rejects.toMatchObject({ code: 'OTTLA_INVALID_OPTION' })
  await expect(remote.fault({ api: 'Oops', drop: true })).rejects.toMatchObject({ message: 'there is no API Oops' })
  await remote.close()
  expect((await broker.describe()).topics.map(({ name }) => name)).toContain('orders')
})

it('lets in nobody without the token, from a page, or through a name that is made to point here', async () => {
  const broker = await start({ http: { token: TOKEN } })
  const url = broker.http as string
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
  expect(await call(url, headers)).toBe(200)
  expect(await call(url, { ...headers, authorization: 'Bearer another-token' })).toBe(401)
  expect(await call(url, { 'content-type': 'application/json' })).toBe(401)
  expect(await call(url, { ...headers, 'content-type': 'text/plain' })).toBe(415)
  expect(await call(url, { ...headers, host: 'evil.example' })).toBe(403)
  expect(await call(url, headers, 'GET')).toBe(405)
  await expect(attachBroker(url, 'another-token')).rejects.toMatchObject({ code: 'OTTLA_NOT_REACHED' })
})

it('is not there unless a token was given, which has to be long', async () => {
  const broker = await start({ http: true })
  expect(await call(broker.http as string, { 'content-type': 'application/json' })).toBe(405)
  await expect(startBroker({ http: { token: 'short' } })).rejects.toMatchObject({ code: 'OTTLA_INVALID_OPTION' })
  const gone = await startBroker({ http: { token: TOKEN } })
  atEnd(() => gone.close())
  await gone.close()
  await expect(attachBroker(gone.http as string, TOKEN)).rejects.toMatchObject({ code: 'OTTLA_NOT_REACHED' })
})
