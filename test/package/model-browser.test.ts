// The model runs in a browser: bundled and minified it is small, and headless Chromium gets the known answers from it.

import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { buildSync } from 'esbuild'
import { afterAll, describe, expect, it } from 'vitest'

const chromium = '/usr/bin/chromium'
const entry = fileURLToPath(new URL('../../src/model/index.ts', import.meta.url))
const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run']
const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync']

function bundle(format: 'esm' | 'iife'): string {
  const options = { bundle: true, minify: true, write: false as const, platform: 'browser' as const, target: 'es2022' }
  const { outputFiles } = buildSync({ ...options, entryPoints: [entry], format, globalName: 'model' })
  return outputFiles[0].text
}

/** What the page computes; it runs in the browser, so it may use nothing from around it. */
function computeInBrowser(model: typeof import('../../src/model/index.ts')): unknown {
  const topic = new model.Topic<string, string>(6)
  for (const member of ['C', 'A', 'B']) topic.join('g', member)
  const [partition, offset] = topic.append('foobar', 'Grüße 🎉')
  const owner = ['A', 'B', 'C'].find(member => topic.assignment('g', member).includes(partition))!
  const polled = topic.poll('g', owner)
  topic.commit('g', owner)
  let refused = ''
  try {
    topic.commit('g', 'A', { 5: 1 })
  } catch (error) {
    refused = (error as Error).name
  }
  const replicated = new model.ReplicatedPartition({ replicas: [1, 2, 3] })
  replicated.append('k', 'v')
  replicated.kill(1)
  const comparison = model.compareAssignors({ partitions: 12, members: ['A', 'B', 'C'], changes: ['+D'] })
  return {
    assignments: ['A', 'B', 'C'].map(member => topic.assignment('g', member)),
    appended: [partition, offset],
    polled: polled.map(record => record.value),
    committed: topic.committed('g', partition),
    refused,
    leader: replicated.leader,
    sticky: comparison.total.sticky,
    range: [...model.assignPartitions(['A', 'B', 'C'], 7).values()],
  }
}

const expected = {
  assignments: [
    [0, 1],
    [2, 3],
    [4, 5],
  ],
  appended: [0xbf9cf968 % 6, 0],
  polled: ['Grüße 🎉'],
  committed: 1,
  refused: 'NotAssignedError',
  leader: 2,
  sticky: 3,
  range: [
    [0, 1, 2],
    [3, 4],
    [5, 6],
  ],
}

describe('the model in a browser', () => {
  const directory = mkdtempSync(join(tmpdir(), 'ottla-model-'))
  afterAll(() => rmSync(directory, { recursive: true, force: true }))

  it('is under 25 kB minified and asks for no module', () => {
    const text = bundle('esm')
    expect(Buffer.byteLength(text)).toBeLessThan(25_000)
    expect(text).not.toMatch(/\bimport\b|\brequire\b/)
  })

  const reason = existsSync(chromium) ? '' : `${chromium} is not installed`
  if (reason) console.log(`skipped: the model in headless Chromium, because ${reason}`)

  it.skipIf(reason)('gives the known answers in headless Chromium', { timeout: 120_000 }, () => {
    const page = join(directory, 'page.html')
    const script = `${bundle('iife')}
      document.querySelector('pre').textContent = encodeURIComponent(JSON.stringify((${computeInBrowser})(model)))`
    writeFileSync(page, `<!doctype html><meta charset="utf-8"><pre>did not run</pre><script>${script}</script>`)
    const profile = join(directory, 'profile')
    const options: ExecFileSyncOptionsWithStringEncoding = {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: 100_000,
    }
    const url = pathToFileURL(page).href
    const dom = execFileSync(chromium, [...flags, ...quiet, `--user-data-dir=${profile}`, '--dump-dom', url], options)
    const answer = /<pre>([^<]*)<\/pre>/.exec(dom)?.[1] ?? ''
    expect(JSON.parse(decodeURIComponent(answer))).toEqual(expected)
  })
})
