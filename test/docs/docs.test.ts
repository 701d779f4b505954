import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { renderDifferences } from './render-differences.ts'

const differences = new URL('../../docs/differences.md', import.meta.url)

it('docs/differences.md says what the handlers say', () => {
  const rendered = renderDifferences()
  if (process.env.UPDATE_DOCS === '1') writeFileSync(differences, rendered)
  expect(readFileSync(differences, 'utf8')).toBe(rendered)
})
