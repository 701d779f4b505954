/**
 * A real broker on a real directory, killed with SIGKILL at random moments under load: what was acknowledged is there once, in order,
 * and the group goes on from its commits. CRASH_KILLS and CRASH_SEED ask for more kills, or for the same again as near as
 * real time allows.
 */

import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Chance } from '../sim/chance.ts'
import { BrokerProcess, freePort, ROOT } from './broker-process.ts'
import { Load } from './load.ts'

const KILLS = Number(process.env.CRASH_KILLS ?? 30)
const SEED = Number(process.env.CRASH_SEED ?? 1)
const directory = mkdtempSync(join(tmpdir(), 'ottla-crash-'))
let broker: BrokerProcess | undefined

beforeAll(async () => {
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/build.mjs'), '--quick'])
}, 60_000)

afterAll(async () => {
  await broker?.kill()
  rmSync(directory, { recursive: true, force: true })
})

describe('a broker that is killed', () => {
  it(`loses nothing that it acknowledged, ${KILLS} times`, { timeout: 180_000 }, async () => {
    const chance = new Chance(SEED)
    broker = new BrokerProcess(await freePort(), join(directory, 'data'), {
      'group.initial.rebalance.delay.ms': '0',
      'offsets.topic.num.partitions': '3',
      'log.retention.check.interval.ms': '500',
    })
    await broker.start()
    const load = new Load(broker.port)
    await load.createTopic({ 'internal.segment.bytes': '40000', 'flush.messages': '1000000' })
    load.produce('a')
    load.produce('b')
    load.produceWithKafkaJs('k')
    load.consume()
    load.consume()
    for (let kill = 0; kill < KILLS; kill++) {
      await pause(chance.between(10, 250))
      await broker.kill()
      // Some do not live until they serve.
      if (chance.maybe(0.2)) {
        broker.begin()
        await pause(chance.between(10, 200))
        await broker.kill()
      }
      await broker.start('-c', `log.flush.interval.messages=${chance.pick([1, 1_000_000])}`)
      if (chance.maybe(0.3)) await load.checkCommitted()
    }
    await pause(500)
    await load.stop()
    await load.checkCommitted()
    const stored = await load.stored()
    load.close()

    expect(load.problems).toEqual([])
    for (const [partition, records] of stored.entries()) {
      expect(records.map(({ offset }) => offset)).toEqual(records.map((_, index) => index))
      for (const name of [...load.idempotent, 'k']) {
        const numbers = records.filter(({ id }) => id.startsWith(`${name}/`)).map(({ id }) => Number(id.split('/')[1]))
        expect(new Set(numbers).size, `doubles of ${name} in partition ${partition}`).toBe(numbers.length)
        expect(numbers, `order of ${name} in partition ${partition}`).toEqual([...numbers].sort((a, b) => a - b))
      }
    }
    const missing = [...load.acknowledged].filter(([id, at]) => stored[at.partition][at.offset]?.id !== id)
    expect(missing).toEqual([])
    // Load there was, and the group kept up with it.
    expect(load.acknowledged.size).toBeGreaterThan(KILLS)
    for (const [partition, offset] of load.committed) {
      for (const { id } of stored[partition].slice(0, offset)) expect(load.read, id).toContain(id)
    }
  })
})
