/**
 * The fixture under runners other than the one of these tests: node:test in a process of its own, on the kit as it is bundled. What
 * is looked at is what a user sees: tests that pass, a failing one with the last requests, a process that ends.
 */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'

const CACHE = fileURLToPath(new URL('../../node_modules/', import.meta.url))
let directory: string

beforeAll(async () => {
  // Inside the repository, so that packages are found from there.
  directory = await mkdtemp(join(CACHE, '.ottla-runners-'))
  await build({
    entryPoints: [fileURLToPath(new URL('../../src/testing/index.ts', import.meta.url))],
    outfile: join(directory, 'testing.mjs'),
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
  })
})

afterAll(() => rm(directory, { recursive: true, force: true }))

const HEAD = `
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, it } from 'node:test'
import kafkajs from 'kafkajs'
import { useBroker } from './testing.mjs'
const kafka = useBroker({ before, after, beforeEach, afterEach }, { topics: ['orders:1'] })
async function send(value) {
  const producer = new kafkajs.Kafka({ brokers: [kafka.broker.bootstrapServers], logLevel: 0, clientId: 'shop' }).producer()
  await producer.connect()
  await producer.send({ topic: 'orders', messages: [{ value }] })
  await producer.disconnect()
}
`

async function runNodeTest(source: string): Promise<{ failed: boolean; printed: string }> {
  const file = join(directory, 'orders.test.mjs')
  await writeFile(file, HEAD + source)
  // The runner of these tests tells its children that they are part of it.
  const { NODE_TEST_CONTEXT: _, VITEST: __, ...env } = process.env
  return new Promise(resolve => {
    const options = { env: { ...env, KAFKAJS_NO_PARTITIONER_WARNING: '1' }, timeout: 25_000 }
    execFile(process.execPath, ['--test', file], options, (error, stdout, stderr) => {
      resolve({ failed: error !== null, printed: stdout + stderr })
    })
  })
}

it('puts the broker back before each test of node:test, and lets the process end', async () => {
  const { failed, printed } = await runNodeTest(`
    for (const name of ['one', 'two']) {
      it(name, async () => {
        await send(name)
        const records = await kafka.broker.topic('orders').records({ count: 1 })
        assert.deepEqual(records.map(({ value }) => value), [name])
      })
    }`)
  expect(printed).toMatch(/pass 2/)
  expect(failed).toBe(false)
  expect(printed).not.toContain('The last requests')
})

it('prints the last requests for a test of node:test that fails', async () => {
  const { failed, printed } = await runNodeTest(`
    it('fails', async () => {
      await send('a')
      assert.equal(1, 2)
    })`)
  expect(failed).toBe(true)
  expect(printed).toMatch(
    /The last requests that reached the broker:[\s\S]*shop Produce v\d+ .*orders\[0 <1 records>\] → orders\[0@0\]/,
  )
})
