import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, it } from 'vitest'

/** `ottla lab` as a process: exit codes and streams. What it says is judged beside its code. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

beforeAll(() => {
  execFileSync(process.execPath, [join(ROOT, 'scripts/build.mjs'), '--quick'])
}, 60_000)

function ottla(...words: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'dist/bin/ottla.js'), ...words], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

it.each(['txt', 'json'])('prints the same as beside the code: %s', kind => {
  const words = ['--partitions', '12', '--members', 'a,b,c', '--change', '+d', '--change', '-a']
  const expected = readFileSync(join(ROOT, `src/cli/lab/expected/rebalance.${kind}`), 'utf8')
  const printed = ottla('lab', 'rebalance', ...words, ...(kind === 'json' ? ['--json'] : []))
  expect(printed).toEqual({ status: 0, stdout: expected, stderr: '' })
})

it('tells a mistake in one line, and fails', () => {
  const { status, stdout, stderr } = ottla('lab', 'rebalance', '--partitions', '-1')
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^error: option '--partitions <count>' .*\n$/)
})

it('does not mind a reader that stops early', () => {
  const members = Array.from({ length: 90 }, (_, i) => `member-${i}`).join()
  const changes = Array.from({ length: 20 }, (_, i) => `--change +another-${i}`).join(' ')
  const command = `"${process.execPath}" dist/bin/ottla.js lab rebalance --partitions 900 --members ${members} ${changes}`
  const { stdout, stderr } = spawnSync('sh', ['-c', `${command} | head -c 5`], { cwd: ROOT, encoding: 'utf8' })
  expect([stdout, stderr]).toEqual(['ottla', ''])
})
