import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/**
 * The guard of the layers, guarded: a forbidden import that is planted must be told. Without this, a tool that stopped
 * understanding TypeScript would see no module and be content. Faults are planted in a house of their own, with our rules.
 */

const root = new URL('..', import.meta.url).pathname
const command = join(root, 'node_modules/.bin/depcruise')
let house: string

beforeAll(() => {
  house = mkdtempSync(join(tmpdir(), 'ottla-layers-'))
  for (const file of ['.dependency-cruiser.cjs', 'tsconfig.json', 'package.json'])
    cpSync(join(root, file), join(house, file))
  symlinkSync(join(root, 'node_modules'), join(house, 'node_modules'))
})

afterAll(() => rmSync(house, { recursive: true, force: true }))

function cruise(directory: string): { status: number; output: string } {
  try {
    const output = execFileSync(command, ['--config', '.dependency-cruiser.cjs', 'src'], {
      cwd: directory,
      encoding: 'utf8',
    })
    return { status: 0, output }
  } catch (error) {
    const { status, stdout } = error as { status: number; stdout: string }
    return { status, output: stdout }
  }
}

/** Builds `src/` anew with just these files. */
function build(files: Record<string, string>): void {
  rmSync(join(house, 'src'), { recursive: true, force: true })
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(dirname(join(house, 'src', path)), { recursive: true })
    writeFileSync(join(house, 'src', path), source)
  }
}

const NEIGHBOUR = 'export const neighbour = 1\n'

const FORBIDDEN: [importer: string, imported: string, rule: string][] = [
  ['util/planted.ts', 'protocol/errors.ts', 'util-imports-inward'],
  ['client/planted.ts', 'broker/purgatory.ts', 'client-imports-inward'],
  ['model/planted.ts', 'core/partitioners.ts', 'model-imports-inward'],
  ['broker/planted.ts', 'cluster/cluster.ts', 'broker-imports-inward'],
  ['log/planted.ts', 'coordinator/runtime.ts', 'log-imports-inward'],
  ['protocol/planted.ts', 'model/topic.ts', 'protocol-imports-inward'],
]

/** All faults at once, since the tool starts slowly: the files have nothing to do with each other. */
function plantAll(): void {
  const planted: [path: string, source: string][] = FORBIDDEN.map(([importer, imported]) => [
    importer,
    `export { neighbour } from '../${imported}'\n`,
  ])
  build({
    ...Object.fromEntries(FORBIDDEN.map(([, imported]) => [imported, NEIGHBOUR])),
    ...Object.fromEntries(planted),
    'log/reads.ts': "export { readFileSync } from 'node:fs'\n",
    'util/a.ts': "import { b } from './b.ts'\nexport const a = () => b\n",
    'util/b.ts': "import { a } from './a.ts'\nexport const b = () => a\n",
  })
}

describe('with faults planted', () => {
  let told: string[]

  beforeAll(() => {
    plantAll()
    const { status, output } = cruise(house)
    expect(status).not.toBe(0)
    told = output.split('\n')
  }, 60_000)

  it.each(FORBIDDEN)('%s may not import %s', (importer, imported, rule) => {
    expect(told).toContainEqual(expect.stringContaining(`${rule}: src/${importer} → src/${imported}`))
  })

  it('the pure part may not import a module of Node', () => {
    expect(told).toContainEqual(expect.stringContaining('pure-part-uses-no-node-module: src/log/reads.ts → '))
  })

  it('cycles are told', () => {
    expect(told).toContainEqual(expect.stringMatching(/no-cycle: src\/util\/[ab]\.ts →/))
  })

  it('nothing else is told', () => {
    expect(told.filter(line => line.includes('error ')).length).toBe(FORBIDDEN.length + 2)
  })
})

it('what is allowed is not told', { timeout: 60_000 }, () => {
  build({ 'protocol/errors.ts': NEIGHBOUR, 'broker/fine.ts': "export { neighbour } from '../protocol/errors.ts'\n" })
  expect(cruise(house)).toMatchObject({ status: 0 })
})

it('sees the modules that are there, and finds nothing wrong with them', { timeout: 60_000 }, () => {
  const { status, output } = cruise(root)
  expect(output).toContain('no dependency violations found')
  expect(Number(/\((\d+) modules/.exec(output)?.[1])).toBeGreaterThan(100)
  expect(status).toBe(0)
})
