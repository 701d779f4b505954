/**
 * The two commands: `record HOST:PORT FILE…` writes the answers of a broker into scenario files, `check HOST:PORT [--profile
 * NAME] [--only REGEX] [FILE…]` plays them against it. `--on-fault COMMAND` is for profile three: it is called with `kill 2` and
 * the like. Exit: 0 all well, 1 some scenario failed, 2 it could not begin.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { parseArgs, promisify } from 'node:util'
import type { Expectations } from './expectation.ts'
import { play } from './play.ts'
import { type Profile, scripts } from './profiles.ts'
import { readScript, type Script } from './script.ts'
import { prepare, recover } from './setup.ts'
import { TcpClusterWorld } from './tcp-cluster-world.ts'
import { TcpWorld } from './tcp-world.ts'

const run = promisify(execFile)

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
    options: {
      profile: { type: 'string', default: 'main' },
      only: { type: 'string', default: '' },
      'on-fault': { type: 'string' },
    },
  })
  const [command, address = '', ...files] = positionals
  const [, host, port] = /^(.+):(\d+)$/.exec(address) ?? []
  const record = command === 'record'
  if (host === undefined || (!record && command !== 'check') || (record && files.length === 0)) {
    console.error('usage: record HOST:PORT FILE… | check HOST:PORT [--profile NAME] [--only REGEX] [FILE…]')
    return 2
  }
  const onFault = values['on-fault']
  const single = new TcpWorld(host, Number(port))
  const target = await prepare(single, host, Number(port), onFault !== undefined)
  const cluster =
    onFault === undefined
      ? undefined
      : new TcpClusterWorld(target, (fault, broker) => run(onFault, [fault, String(broker)]))
  const world = cluster ?? single
  const only = new RegExp(values.only, 'i')
  let failed = 0
  let passed = 0
  for (const script of files.length > 0 ? files.map(readScript) : scripts(values.profile as Profile)) {
    const recorded: Expectations | undefined = record ? new Map() : undefined
    const path = files.find(file => file.endsWith(script.file))
    for (const scenario of script.scenarios.filter(({ name }) => only.test(name))) {
      if (cluster !== undefined) await recover(cluster, target, cluster.down)
      const found = await play(scenario, target, world, recorded)
      // After each one, so that no later accident costs what was recorded.
      if (path !== undefined && recorded !== undefined) writeFileSync(path, edited(script, recorded))
      console.log(`${found === undefined ? 'PASS' : 'FAIL'} ${script.file} "${scenario.name}"`)
      if (found === undefined) passed++
      else failed++
      if (found !== undefined) console.log(`     ${found}`)
    }
  }
  if (cluster !== undefined) await recover(cluster, target, cluster.down)
  console.log(`${passed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

process.exitCode = await main()
