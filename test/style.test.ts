import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

/** Habits of the house that a machine can check. */

const root = new URL('..', import.meta.url).pathname
const MAX_LINES = 400

function tracked(): string[] {
  const output = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  return output.split('\n').filter(path => path !== '')
}

const sources = tracked().filter(path => /^(src|bench|scripts)\/.*\.(ts|mjs)$/.test(path))
const text = (path: string) => readFileSync(root + path, 'utf8')

it('keeps source files short', () => {
  const long = sources.filter(path => !path.endsWith('.test.ts') && text(path).split('\n').length > MAX_LINES + 1)
  expect(long).toEqual([])
})

it('leaves nothing to be fixed', () => {
  const marker = new RegExp(`\\b${['FIX', 'ME'].join('')}\\b`)
  expect(sources.filter(path => marker.test(text(path)))).toEqual([])
})

it('names every file in kebab-case', () => {
  const names = sources.map(path => path.split('/').at(-1) as string)
  expect(names.filter(name => !/^[a-z0-9]+(-[a-z0-9]+)*(\.(property|test|contract))*\.(ts|mjs)$/.test(name))).toEqual(
    [],
  )
})

it('records no download address in a lock file', () => {
  const locks = tracked().filter(path => path.endsWith('package-lock.json'))
  expect(locks.length).toBeGreaterThan(0)
  expect(locks.filter(path => text(path).includes('"resolved": "http'))).toEqual([])
})
