/**
 * The two commands: `record HOST:PORT FILE…` writes the answers of a broker into scenario files, `check HOST:PORT [--profile
 * NAME] [--only REGEX] [FILE…]` plays them against it. Exit: 0 all well, 1 some scenario failed, 2 it could not begin.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { Expectations } from './expectation.ts'
import { play } from './play.ts'
import { type Profile, scripts } from './profiles.ts'
import { readScript, type Script } from './script.ts'
import { prepare } from './setup.ts'
import { TcpWorld } from './tcp-world.ts'

/** Puts what was recorded at the place of each step's `expect`, or behind the step where there was none. */
function edited({ text, scenarios }: Script, recorded: Expectations): string {
  const steps = scenarios.flatMap(scenario => scenario.steps)
  return steps.reduceRight((edited, step) => {
    const shown = recorded.get(step)
    if (shown === undefined) return edited
    const { start, end } = step.expect ?? { start: step.end, end: step.end }
    return edited.slice(0, start) + (step.expect ? shown : `\n  ${shown}`) + edited.slice(end)
  }, text)
}

async function main(): Promise<number> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { profile: { type: 'string', default: 'main' }, only: { type: 'string', default: '' } },
  })
  const [command, address = '', ...files] = positionals
  const [, host, port] = /^(.+):(\d+)$/.exec(address) ?? []
  const record = command === 'record'
  if (host === undefined || (!record && command !== 'check') || (record && files.length === 0)) {
    console.error('usage: record HOST:PORT FILE… | check HOST:PORT [--profile NAME] [--only REGEX] [FILE…]')
    return 2
  }
  const world = new TcpWorld(host, Number(port))
  const target = await prepare(world, host, Number(port))
  const only = new RegExp(values.only, 'i')
  let failed = 0
  let passed = 0
  for (const script of files.length > 0 ? files.map(readScript) : scripts(values.profile as Profile)) {
    const recorded: Expectations | undefined = record ? new Map() : undefined
    for (const scenario of script.scenarios.filter(({ name }) => only.test(name))) {
      const found = await play(scenario, target, world, recorded)
      console.log(`${found === undefined ? 'PASS' : 'FAIL'} ${script.file} "${scenario.name}"`)
      if (found === undefined) passed++
      else failed++
      if (found !== undefined) console.log(`     ${found}`)
    }
    const index = files.findIndex(file => file.endsWith(script.file))
    if (recorded !== undefined) writeFileSync(files[index], edited(script, recorded))
  }
  console.log(`${passed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

process.exitCode = await main()
