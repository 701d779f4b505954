/**
 * The packed library under Bun and Deno: installed as users have it, driven by small programs (`programs/`) that the runtime runs,
 * with kafkajs in the same process. docs/runtimes.md says what works; this holds it to that.
 *
 * The runtimes come from npm: `npm ci --ignore-scripts --prefix test/runtimes`. One that is not there is skipped by name, and
 * with OTTLA_RUNTIMES_REQUIRED=1 that is a failure.
 */
import { execFile, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askApiVersions, until } from '../node/support.ts'

const execute = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const HERE = fileURLToPath(new URL('.', import.meta.url))
const REQUIRED = process.env.OTTLA_RUNTIMES_REQUIRED === '1'
const TIMEOUT_MS = 90_000

interface Runtime {
  readonly name: string
  /** Its package has the program for each platform in a package of its own, of which npm installs the one that fits. */
  readonly scope: string
  readonly program: string
  /** What stands before the name of a program. */
  readonly run: readonly string[]
  /** What makes its own runner run the tests of this file. */
  readonly test: readonly string[]
  /** What the runner prints when both tests passed. */
  readonly passed: RegExp
}

/** What Ottla needs of Deno: sockets, files, native packages, and what those look at when they are loaded. */
const PERMISSIONS = ['--allow-net', '--allow-read', '--allow-write', '--allow-env', '--allow-sys', '--allow-ffi']

const RUNTIMES: readonly Runtime[] = [
  {
    name: 'Bun',
    scope: '@oven',
    program: 'bin/bun',
    run: [],
    test: ['test', './bun-orders.test.mjs'],
    passed: /\b2 pass\n\s*0 fail\b/,
  },
  {
    name: 'Deno',
    scope: '@deno',
    program: 'deno',
    run: ['run', ...PERMISSIONS],
    test: ['test', '--no-check', ...PERMISSIONS, './deno-orders.test.mjs'],
    passed: /ok \| 1 passed \(2 steps\) \| 0 failed/,
  },
]

/** Where the program of a runtime is; undefined when it is not installed, or not for this machine. */
async function find({ scope, program }: Runtime): Promise<string | undefined> {
  const directory = join(HERE, 'node_modules', scope)
  for (const name of await readdir(directory).catch(() => [])) {
    const path = join(directory, name, program)
    const runs = await execute(path, ['--version']).then(
      () => true,
      () => false,
    )
    if (runs) return path
  }
  return undefined
}

const found = await Promise.all(RUNTIMES.map(async runtime => ({ ...runtime, path: await find(runtime) })))
const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))

let parent: string
let directory: string

/** The package, its dependencies from the registry, kafkajs as the repository has it, and the programs. */
beforeAll(async () => {
  if (found.every(({ path }) => path === undefined)) return
  parent = await mkdtemp(join(tmpdir(), 'ottla-runtimes-'))
  directory = join(parent, 'project')
  await mkdir(directory)
  await execute(process.execPath, ['scripts/build.mjs', '--quick'], { cwd: ROOT })
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', parent]
  const { stdout } = await execute('npm', pack, { cwd: ROOT })
  const [{ filename }] = JSON.parse(stdout)
  await writeFile(join(directory, 'package.json'), '{ "private": true, "type": "module" }\n')
  await execute('npm', ['install', '--ignore-scripts', join(parent, filename)], { cwd: directory })
  await cp(join(ROOT, 'node_modules/kafkajs'), join(directory, 'node_modules/kafkajs'), { recursive: true })
  await cp(join(HERE, 'programs'), directory, { recursive: true })
}, 180_000)

afterAll(async () => {
  if (parent !== undefined) await rm(parent, { recursive: true, force: true })
})

for (const { name, path, run, test, passed } of found) {
  if (path === undefined) {
    const missing = `${name} is not installed (npm ci --ignore-scripts --prefix test/runtimes)`
    if (REQUIRED) it(`${name} is installed`, () => expect.fail(missing))
    else it.skip(`skipped: ${missing}`, () => {})
    continue
  }

  /** Its cache stays in the folder that goes in the end, and it looks for no newer version of itself. */
  const options = () => {
    const { VITEST: _, NODE_TEST_CONTEXT: __, ...env } = process.env
    const own = { NO_COLOR: '1', DENO_DIR: join(parent, 'deno'), DENO_NO_UPDATE_CHECK: '1' }
    return { cwd: directory, env: { ...env, ...own } }
  }

  const runProgram = async (...args: string[]) => {
    const { stdout, stderr } = await execute(path, [...run, ...args], { ...options(), timeout: TIMEOUT_MS - 10_000 })
    // What goes wrong in a thread that ends is told here alone. Warnings are kafkajs's, of timers in the past.
    expect(stderr).not.toMatch(/error/i)
    return JSON.parse(stdout)
  }

  describe(name, { timeout: TIMEOUT_MS }, () => {
    it('imports every subpath, and runs the model', async () => {
      const subpaths = Object.keys(manifest.exports).filter(subpath => /^\.\/\w+$/.test(subpath))
      const names = subpaths.map(subpath => subpath.slice(2))
      expect(names).toEqual(expect.arrayContaining(['model', 'testing', 'client', 'protocol']))
      const { modules, polled } = await runProgram('subpaths.mjs', ...names)
      expect(modules).toEqual(Object.fromEntries(names.map(name => [name, true])))
      expect(polled).toEqual(['hello'])
    })

    it.each(['in its own thread', 'worker'])('runs a broker, %s, and kafkajs produces and consumes', async where => {
      expect(await runProgram('clients.mjs', where)).toEqual({
        received: 24,
        same: true,
        ends: [12, 12],
        committed: [12, 12],
        healthy: 200,
        metrics: true,
        produced: 24,
        closed: 'OTTLA_BROKER_CLOSED',
      })
    })

    it('has everything again after a restart on a data directory, which nobody else takes meanwhile', async () => {
      expect(await runProgram('data.mjs')).toEqual({
        before: ['before'],
        taken: 'OTTLA_DATA_DIR_LOCKED',
        after: ['after'],
        clusterId: true,
        kept: true,
      })
    })

    it('has the testing kit: topics, codecs, virtual time, snapshots', async () => {
      expect(await runProgram('testing.mjs')).toEqual({
        records: [
          ['a', 1],
          ['b', 2],
        ],
        codecs: ['gzip', 'snappy', 'lz4', 'zstd'].map(codec => [codec, 6000]),
        afterEightDays: 0,
        afterRestore: 2,
        afterReset: 0,
        timeout: ['OttlaError', 'OTTLA_TIMEOUT'],
      })
    })

    it('has the fixture under its own runner of tests', async () => {
      const { stdout, stderr } = await execute(path, [...test], { ...options(), timeout: TIMEOUT_MS - 10_000 })
      expect(stdout + stderr).toMatch(passed)
    })

    it('runs the command, which ends well on SIGTERM', async () => {
      const command = [...run, 'node_modules/ottla/dist/bin/ottla.js', 'start', '--port', '0', '--topic', 'orders']
      const child = spawn(path, command, { ...options(), stdio: ['ignore', 'pipe', 'pipe'] })
      let printed = ''
      let status: number | string | undefined
      child.stdout.on('data', text => (printed += text))
      child.stderr.on('data', text => (printed += text))
      child.on('close', (code, signal) => (status = code ?? signal ?? 'unknown'))
      try {
        await until(() => printed.includes('Ctrl-C') || status !== undefined, 'the screen', 60_000)
        const port = Number(/address\s+\S+:(\d+)/.exec(printed)?.[1])
        expect((await askApiVersions(port)).readInt16BE(8)).toBe(0)
        child.kill('SIGTERM')
        await until(() => status !== undefined, 'the end')
        expect(status, printed).toBe(0)
      } finally {
        child.kill('SIGKILL')
      }
    })
  })
}
