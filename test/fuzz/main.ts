import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startBroker } from '../../src/node/index.ts'
import { profileConfigs } from '../twin/profiles.ts'
import type { Difference } from './compare.ts'
import { generate } from './generator.ts'
import { KNOWN } from './known.ts'
import { minimise } from './minimise.ts'
import { play } from './player.ts'
import { printScenario } from './print.ts'
import type { Step } from './sequence.ts'
import { type Address, warmUp } from './side.ts'

/**
 * Differential fuzzing: plays random sequences of requests to Ottla and to Apache Kafka until they answer differently, and
 * prints the shortest sequence that shows it. README.md beside this file says how to use it.
 */

const CONFIGS = profileConfigs('main')
/** How many times a sequence is played again to make it shorter. */
const REPLAYS = 120
/** How long that may take. */
const LONGEST_MS = 90_000

/** @param script that starts and stops Apache Kafka, `test/oracle/kafka` */
export async function main(script: string, args: string[]): Promise<number> {
  const { values: options } = parseArgs({
    args,
    options: {
      minutes: { type: 'string', default: '10' },
      seed: { type: 'string' },
      sequences: { type: 'string', default: 'Infinity' },
      target: { type: 'string' },
      all: { type: 'boolean', default: false },
      lanes: { type: 'string', default: '4' },
    },
  })
  const seed = options.seed === undefined ? Math.floor(Math.random() * 1e9) : Number(options.seed)
  const kafka = options.target === undefined ? startKafka(script) : { ...addressOf(options.target), stop() {} }
  try {
    const fatal: Error[] = []
    await using broker = await startBroker({ configs: CONFIGS, log: false, onFatal: error => fatal.push(error) })
    const run = new Run(kafka, broker, fatal)
    await warmUp(kafka)
    await warmUp(broker)
    const end = Date.now() + Number(options.minutes) * 60_000
    console.log(`seed ${seed}`)
    let next = 0
    let failures = 0
    const lane = async () => {
      while (next < Number(options.sequences) && Date.now() < end) {
        const each = seed + next++
        try {
          await run.sequence(each)
        } catch (error) {
          // A broker that is gone would fail them all.
          if (++failures > 3) throw error
          console.log(`seed ${each}: ${error}`)
        }
        if (run.found.size > 0 && !options.all) break
      }
    }
    // Most of the time is spent waiting for one of the two brokers.
    await Promise.all(Array.from({ length: Number(options.lanes) }, lane))
    run.summarise()
    return run.found.size > 0 ? 1 : 0
  } finally {
    kafka.stop()
  }
}

class Run {
  /** How often each difference was met, by its signature. */
  readonly found = new Map<string, number>()
  readonly #kafka: Address
  readonly #ottla: Address
  readonly #fatal: Error[]
  readonly #known = new Map<string, number>()
  #clean = 0
  #unsteady = 0
  #steps = 0

  constructor(kafka: Address, ottla: Address, fatal: Error[]) {
    this.#kafka = kafka
    this.#ottla = ottla
    this.#fatal = fatal
  }

  async sequence(seed: number): Promise<void> {
    const { difference, steps } = await play(generate(seed), this.#kafka, this.#ottla)
    this.#steps += steps.length
    for (const error of this.#fatal.splice(0))
      console.log(`seed ${seed}: Ottla found a mistake of its own: ${error.stack}`)
    if (difference === undefined) {
      this.#clean++
      return
    }
    const known = KNOWN.find(({ is }) => is(difference, steps))
    if (known !== undefined) {
      const why = `${difference.signature.split(' ')[0]}: ${known.why}`
      this.#known.set(why, (this.#known.get(why) ?? 0) + 1)
      return
    }
    const times = this.found.get(difference.signature) ?? 0
    if (times > 0) this.found.set(difference.signature, times + 1)
    else await this.#report(seed, steps, difference)
  }

  async #report(seed: number, steps: readonly Step[], difference: Difference): Promise<void> {
    const { signature } = difference
    const upTo = steps.slice(0, difference.index + 1)
    const again = async (fewer: readonly Step[]) => {
      const played = await play(fewer, this.#kafka, this.#ottla)
      return played.difference?.signature === signature ? played : undefined
    }
    // What parked needs the steps after it, which let it go.
    const whole = (await again(upTo)) === undefined ? steps : upTo
    if (whole === steps && (await again(steps)) === undefined) {
      this.#unsteady++
      console.log(
        `seed ${seed}: not seen a second time: ${signature}\n${printScenario(`fuzz ${seed}`, upTo, difference)}`,
      )
      return
    }
    this.found.set(signature, 1)
    console.log(`\nseed ${seed}: ${signature} (making it shorter)`)
    const end = Date.now() + LONGEST_MS
    const fails = async (fewer: readonly Step[]) => Date.now() < end && (await again(fewer)) !== undefined
    const fewest = await minimise(whole, fails, REPLAYS)
    const last = await again(fewest)
    console.log(
      `\nseed ${seed}: ${signature}\n${printScenario(`fuzz ${seed}`, last?.steps ?? fewest, last?.difference ?? difference)}`,
    )
  }

  summarise(): void {
    console.log(
      `\n${this.#clean} sequences ran clean, ${this.#steps} steps in all; ${this.#unsteady} differences were not seen twice`,
    )
    for (const [why, times] of this.#known) console.log(`  known, ${times} times: ${why}`)
    for (const [signature, times] of this.found) console.log(`  ${times} times: ${signature}`)
  }
}

function addressOf(target: string): Address {
  const [host, port] = target.split(':')
  return { host, port: Number(port) }
}

function startKafka(script: string): Address & { stop(): void } {
  const directory = join(mkdtempSync(join(tmpdir(), 'ottla-fuzz-')), 'kafka')
  const port = 20_000 + Math.floor(Math.random() * 12_000)
  const configs = Object.entries(CONFIGS).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  execFileSync(script, ['start', '--dir', directory, '--port', String(port), ...configs], { stdio: 'inherit' })
  return {
    host: '127.0.0.1',
    port,
    stop() {
      execFileSync(script, ['stop', '--dir', directory])
      rmSync(join(directory, '..'), { recursive: true, force: true })
    },
  }
}
