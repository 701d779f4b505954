import { expect, it } from 'vitest'
import { LimitedLog } from './limited-log.ts'
import { VirtualEnv } from './virtual-env.ts'

it('writes ten lines a second, counts the rest and tells the count', () => {
  const env = new VirtualEnv()
  const log = new LimitedLog(env, 'warn')
  for (let line = 0; line < 25; line++) log.log(`line ${line}`)
  expect(env.lines.map(({ message }) => message)).toEqual(Array.from({ length: 10 }, (_, line) => `line ${line}`))
  env.advance(1000)
  log.log('later', { connection: 1 })
  expect(env.lines.slice(10)).toEqual([
    { level: 'warn', message: '15 more lines like the last were left out', fields: {} },
    { level: 'warn', message: 'later', fields: { connection: 1 } },
  ])
})
