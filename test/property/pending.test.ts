/** The list of what the broker lacks is true, so that it shrinks. */

import { expect, it } from 'vitest'
import { PENDING } from './pending.ts'

it.each(PENDING)('$name: still pending', ({ name, histories, isThere }) => {
  expect(isThere(), `${name} is there now: take it from the list, and add to the histories: ${histories}`).toBe(false)
})
