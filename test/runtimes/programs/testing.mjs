/** What `ottla/testing` gives, without a client: topics, every codec, time, states that are put back, faults. Prints JSON. */
import { json, startTestBroker, string } from 'ottla/testing'

const CODECS = ['gzip', 'snappy', 'lz4', 'zstd']
const broker = await startTestBroker({
  time: 'virtual',
  topics: ['orders', ...CODECS.map(name => ({ name, configs: { 'compression.type': name } }))],
})
const result = {}

const orders = broker.topic('orders', { value: json })
await orders.produce({ key: 'a', value: { books: 1 } }, { key: 'b', value: { books: 2 } })
result.records = (await orders.records({ count: 2 })).map(({ key, value }) => [key, value.books])

result.codecs = []
for (const codec of CODECS) {
  const topic = broker.topic(codec, { value: string })
  // Long enough for the native CRC-32C, if there is one.
  await topic.produce({ value: 'hello '.repeat(1000) })
  const [{ value }] = await topic.records({ count: 1 })
  result.codecs.push([codec, value.length])
}

const seeded = await broker.snapshot()
await broker.advance('8d')
result.afterEightDays = (await orders.records({ count: 0 })).length
await broker.restore(seeded)
result.afterRestore = (await orders.records({ count: 2 })).length
await broker.reset()
result.afterReset = (await orders.records({ count: 0 })).length

const failed = await orders.records({ count: 1, timeoutMs: 50 }).catch(error => error)
result.timeout = [failed.name, failed.code]
await broker.close()
console.log(JSON.stringify(result))
