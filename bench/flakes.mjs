/**
 * Runs a command again and again while the machine is busy, and tells every run that fails: a test that is right passes however slow
 * its surroundings are.
 *
 *   node bench/flakes.mjs [--runs 200] [--busy 2] [--cwd directory] -- npx vitest run test/testing/faults.test.ts
 *
 * `--busy` is how many processes do nothing but turn. Exits with 1 when a run failed; what it printed is shown.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { median, percentile, printTable } from './support/numbers.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '200' },
    busy: { type: 'string', default: '2' },
    cwd: { type: 'string', default: '.' },
  },
})
const [command, ...args] = positionals
if (command === undefined) throw new Error('say which command: node bench/flakes.mjs -- npx vitest run …')

const busy = Array.from({ length: Number(values.busy) }, () =>
  spawn(process.execPath, ['-e', 'for (;;) ;'], { stdio: 'ignore' }),
)
process.once('exit', () => {
  for (const child of busy) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))

const seconds = []
const loads = []
let failed = 0
for (let run = 1; run <= Number(values.runs); run++) {
  const began = performance.now()
  const { passed, printed } = await runOnce()
  seconds.push((performance.now() - began) / 1000)
  loads.push(loadavg()[0])
  if (run % 20 === 0) console.error(`${run} runs, ${failed} failed`)
  if (passed) continue
  failed++
  console.log(`run ${run} failed:\n${printed}`)
}

printTable([
  {
    command: positionals.join(' '),
    runs: seconds.length,
    failed,
    'median s': median(seconds),
    'p95 s': percentile(seconds, 0.95),
    'longest s': Math.max(...seconds),
    'busy loops': busy.length,
    load: median(loads),
  },
])
process.exit(failed > 0 ? 1 : 0)

async function runOnce() {
  const child = spawn(command, args, { cwd: values.cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (printed += chunk))
  const [code] = await once(child, 'close')
  return { passed: code === 0, printed }
}
