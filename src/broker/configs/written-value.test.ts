import { expect, it } from 'vitest'
import { writtenValue } from './written-value.ts'

it.each([
  ['long', ' 5000000 ', '5000000'],
  ['long', '9223372036854775807', '9223372036854775807'],
  ['int', '+7', '7'],
  ['int', '-007', '-7'],
  ['double', '.5', '0.5'],
  ['double', '1', '1.0'],
  ['double', 'NaN', 'NaN'],
  ['boolean', ' TRUE', 'true'],
  ['list', 'compact, delete,compact', 'compact,delete'],
  ['list', '', ''],
  ['string', ' gzip ', 'gzip'],
  ['password', ' secret ', ' secret '],
] as const)('%s: %j reads %j', (type, given, written) => {
  expect(writtenValue(type, given)).toBe(written)
})
