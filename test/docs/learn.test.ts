import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from 'node:util'
import { buildSync } from 'esbuild'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

/**
 * docs/learn/ says nothing that the model does not do: the code of each page runs, as one program, and prints what the page
 * says it prints. `UPDATE_DOCS=1` writes what it prints into the pages; review the diff.
 */

const LEARN = fileURLToPath(new URL('../../docs/learn/', import.meta.url))
const MODEL = fileURLToPath(new URL('../../src/model/index.ts', import.meta.url))
/** A block of code, and the block of output that has to follow it. */
const BLOCKS = /^```ts\n(.*?)^```\n(?:\n^```text\n(.*?)^```\n)?/gms

const pages = readdirSync(LEARN).filter(name => name.endsWith('.md') && name !== 'README.md')
const read = (name: string) => readFileSync(join(LEARN, name), 'utf8')

interface Block {
  code: string
  /** What the page says that it prints; undefined if it does not say. */
  output: string | undefined
}

function blocksOf(page: string): Block[] {
  return [...page.matchAll(BLOCKS)].map(([, code, output]) => ({ code, output }))
}

/** The blocks of a page are one program: later ones use what earlier ones declared. */
function programOf(blocks: Block[]): string {
  return blocks.map(({ code }) => `${code}\nendOfBlock()\n`).join('')
}

/** Runs the blocks of a page; returns what each of them printed. */
function run(blocks: Block[]): string[] {
  const { outputFiles } = buildSync({
    stdin: { contents: programOf(blocks), resolveDir: LEARN, loader: 'ts' },
    alias: { 'ottla/model': MODEL },
    bundle: true,
    write: false,
    format: 'iife',
    target: 'node20',
  })
  const outputs: string[] = []
  let output = ''
  const console = { log: (...values: unknown[]) => (output += `${format(...values)}\n`) }
  const endOfBlock = () => {
    outputs.push(output)
    output = ''
  }
  new Function('console', 'endOfBlock', outputFiles[0].text)(console, endOfBlock)
  return outputs
}

function update(page: string, outputs: string[]): string {
  let block = 0
  return page.replace(BLOCKS, (_, code: string) => `\`\`\`ts\n${code}\`\`\`\n\n\`\`\`text\n${outputs[block++]}\`\`\`\n`)
}

describe.each(pages)('docs/learn/%s', name => {
  it('prints what it says', () => {
    const blocks = blocksOf(read(name))
    expect(blocks.length).toBeGreaterThan(1)
    const outputs = run(blocks)
    if (process.env.UPDATE_DOCS === '1') writeFileSync(join(LEARN, name), update(read(name), outputs))
    expect(blocksOf(read(name)).map(({ output }) => output)).toEqual(outputs)
    expect(outputs.filter(output => output === '')).toEqual([])
  })

  it('has no code that is not run, and says where real Kafka differs', () => {
    const page = read(name)
    const fences = page.split('\n').filter(line => line.startsWith('```')).length
    expect(fences).toBe(4 * blocksOf(page).length)
    expect(page).toMatch(/^## Where real Kafka differs$/m)
  })

  it('is short', () => {
    const lines = read(name).split('\n')
    expect(lines.length).toBeLessThanOrEqual(150)
    expect(lines.filter(line => line.length > 118)).toEqual([])
  })
})

it('the check notices output that is wrong', () => {
  const page = "```ts\nconst n = 1\nconsole.log('n', n)\n```\n\n```text\nn 2\n```\n"
  const blocks = blocksOf(page)
  expect(blocks).toEqual([{ code: "const n = 1\nconsole.log('n', n)\n", output: 'n 2\n' }])
  expect(run(blocks)).toEqual(['n 1\n'])
  expect(update(page, run(blocks))).toContain('```text\nn 1\n```\n')
})

it('the index names every page, and every link leads somewhere', () => {
  const linked = [...read('README.md').matchAll(/\]\(([a-z-]+\.md)\)/g)].map(([, target]) => target)
  expect([...linked].sort()).toEqual([...pages].sort())
  for (const name of [...pages, 'README.md']) {
    for (const [, target] of read(name).matchAll(/\]\(((?!https?:)[^)#]+)[^)]*\)/g)) {
      expect(() => readFileSync(join(LEARN, target)), `${name} links ${target}`).not.toThrow()
    }
  }
})

it('the code has right types, too', { timeout: 120_000 }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'ottla-learn-'))
  try {
    const globals = 'declare const console: { log(...values: unknown[]): void }\ndeclare function endOfBlock(): void\n'
    const files = pages.map(name => {
      const path = join(directory, name.replace('.md', '.ts'))
      writeFileSync(path, `${globals}${programOf(blocksOf(read(name)))}export {}\n`)
      return path
    })
    const program = ts.createProgram(files, {
      strict: true,
      noEmit: true,
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      allowImportingTsExtensions: true,
      paths: { 'ottla/model': [MODEL] },
      types: [],
    })
    const mistakes = files.flatMap(path => ts.getPreEmitDiagnostics(program, program.getSourceFile(path)))
    expect(mistakes.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([])
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
})
