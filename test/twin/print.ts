import { isContainer, type Json, textOf } from './json.ts'
import type { Names } from './names.ts'

/**
 * Writes JSON the way scenarios do: short things in one line, names without quotes, unique topic names back as `@name` and
 * known ids as `$variables`.
 */

const WIDTH = 150
const LONGEST_LINE = 1500

/** A text with the names that are unique to this run taken back. */
export function back(text: string, names: Names): string {
  let shown = text.replace(new RegExp(`([a-z][a-z0-9]*)-${names.suffix}`, 'g'), '@$1')
  for (const [name, value] of names.variables) {
    if (typeof value !== 'string' || value.length < 16 || !shown.includes(value)) continue
    shown = shown === value ? `$${name}` : shown.replaceAll(value, `\${${name}}`)
  }
  return shown
}

/** One line, cut when it is too long for a message. */
export function printLine(value: Json, names: Names): string {
  const text = back(printFlat(value), names)
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…` : text
}

function printFlat(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(printFlat).join(', ')}]`
  if (!isContainer(value)) return typeof value === 'string' ? JSON.stringify(value) : textOf(value)
  const members = Object.entries(value).map(([name, member]) => `${printName(name)}: ${printFlat(member)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

function printName(name: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : JSON.stringify(name)
}

/** Several lines where one is too long; the first begins at `column`. */
export function printBlock(value: Json, indent: number, column: number): string {
  const flat = printFlat(value)
  if (!isContainer(value) || column + flat.length <= WIDTH) return flat
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  const items = Array.isArray(value)
    ? value.map(item => ['', item] as const)
    : Object.entries(value).map(([name, item]) => [`${printName(name)}: `, item] as const)
  const pad = ' '.repeat(indent + 2)
  let text = open
  /** Where the line stands; undefined when the next item begins a line of its own. */
  let at: number | undefined
  items.forEach(([name, item], index) => {
    const line = name + printFlat(item)
    if (index > 0) text += ','
    if (at !== undefined && at + line.length + 2 <= WIDTH && line.length <= 90) {
      text += ` ${line}`
      at += line.length + 2
      return
    }
    const fits = pad.length + line.length <= WIDTH
    text += `\n${pad}${fits ? line : name + printBlock(item, indent + 2, pad.length + name.length)}`
    at = fits ? pad.length + line.length : undefined
  })
  return `${text}\n${' '.repeat(indent)}${close}`
}
