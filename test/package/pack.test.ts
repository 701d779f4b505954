/**
 * The package as users get it: packed, installed into an empty folder, every subpath imported, the command run. Installing
 * takes the dependencies from the registry that npm is set up for.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askApiVersions, Client, until } from '../node/support.ts'

const execute = promisify(execFile)
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const manifest = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
const subpaths = Object.keys(manifest.exports).filter(subpath => subpath !== './package.json')

let directory: string
let packed: string[]

beforeAll(async () => {
  const parent = await mkdtemp(join(tmpdir(), 'ottla-pack-'))
  directory = join(parent, 'empty')
  await mkdir(directory)
  const { stdout } = await execute('npm', ['pack', '--json', '--pack-destination', parent], { cwd: ROOT })
  // The build that npm runs first may print before the JSON does.
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.search(/^\[/m)))
  packed = files.map((file: { path: string }) => file.path)
  await writeFile(join(directory, 'package.json'), '{ "private": true, "type": "module" }\n')
  await execute('npm', ['install', '--ignore-scripts', join(parent, filename)], { cwd: directory })
}, 120_000)

afterAll(() => rm(join(directory, '..'), { recursive: true, force: true }))

async function runModule(source: string): Promise<string> {
  const { stdout } = await execute(process.execPath, ['--input-type=module', '-e', source], { cwd: directory })
  return stdout
}

describe('the packed package', () => {
  it('holds what was built and the documents, and neither sources nor tests', () => {
    expect(packed).toEqual(expect.arrayContaining(['dist/bin/ottla.js', 'dist/node/index.js', 'dist/node/index.d.ts']))
    const strange = packed.filter(path => !/^(dist\/.*\.(js|js\.map|d\.ts)|package\.json|[A-Z]+(\.md)?)$/.test(path))
    expect(strange).toEqual([])
    expect(packed.filter(path => /\.(test|contract)\./.test(path))).toEqual([])
  })

  it.each(subpaths)('exports something under %s', async subpath => {
    const specifier = join('ottla', subpath)
    const names = await runModule(`console.log(Object.keys(await import('${specifier}')).join(' '))`)
    expect(names.trim()).not.toBe('')
  })

  it('has no class twice: a class that two subpaths export under one name is the same', async () => {
    const twice = await runModule(`
      const seen = new Map()
      for (const specifier of ${JSON.stringify(subpaths.map(subpath => join('ottla', subpath)))}) {
        for (const [name, value] of Object.entries(await import(specifier))) {
          if (typeof value !== 'function' || !String(value).startsWith('class')) continue
          if (seen.has(name) && seen.get(name) !== value) console.log(specifier, name)
          seen.set(name, value)
        }
      }`)
    expect(twice).toBe('')
  })

  it('has types that a strict project can use', async () => {
    const imports = subpaths.map((subpath, index) => `import * as part${index} from '${join('ottla', subpath)}'`)
    await writeFile(
      join(directory, 'use.ts'),
      `${imports.join('\n')}
export const parts = [${imports.map((_, index) => `part${index}`).join(', ')}]
import { OttlaError, type RunningBroker, startBroker } from 'ottla'
export async function use(): Promise<string> {
  await using broker: RunningBroker = await startBroker({ topics: ['orders:12'], log: (level, message) => void [level, message] })
  const api: string = (await broker.requests())[0].api
  // @ts-expect-error There is no such option.
  await startBroker({ ports: 1 })
  return api + new OttlaError('OTTLA_PORT_IN_USE', '').code
}
`,
    )
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--lib', 'es2023,esnext.disposable']
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    const args = [tsc, ...options, '--skipLibCheck', '--noEmit', 'use.ts']
    const { stdout } = await execute(process.execPath, args, { cwd: directory }).catch(error => error)
    expect(stdout).toBe('')
  }, 60_000)

  it.each([false, true])('starts a broker, with worker: %s', async worker => {
    const source = `
      import { startBroker } from 'ottla'
      const broker = await startBroker({ worker: ${worker} })
      console.log(typeof broker.port, (await broker.requests()).length)
      await broker.close()`
    expect(await runModule(source)).toBe('number 0\n')
  })

  it('runs the command, which ends within a second on SIGTERM', async () => {
    const npx = spawn('npx', ['ottla', 'start', '--port', '0'], {
      cwd: directory,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    let printed = ''
    let ended = false
    npx.stdout.on('data', text => (printed += text))
    npx.on('exit', () => (ended = true))
    try {
      await until(() => printed.includes('Ctrl-C'), 'the screen', 30_000)
      const port = Number(/address\s+\S+:(\d+)/.exec(printed)?.[1])
      expect((await askApiVersions(port)).readInt16BE(8)).toBe(0)
      const client = await Client.open(port)
      // To npx alone, which tells nobody but its shell.
      npx.kill('SIGTERM')
      await until(() => ended && client.closed, 'the end', 1000)
      const late = new Client(port)
      await until(() => late.closed, 'a late client refused')
    } finally {
      try {
        process.kill(-(npx.pid as number), 'SIGKILL')
      } catch {
        // The whole group is gone, as it should be.
      }
    }
  }, 60_000)
})
