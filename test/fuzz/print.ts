import type { Json, JsonObject } from '../twin/json.ts'
import { printBlock } from '../twin/print.ts'
import type { Difference } from './compare.ts'
import { changesMetadata, type Step } from './sequence.ts'

/** Writes a sequence as a scenario, with variables where an answer gives them, and what the two brokers answered. */

const LONGEST = 600
const VARIABLE = /\$([A-Za-z]+\d+)/g

export function printScenario(name: string, steps: readonly Step[], difference: Difference | undefined): string {
  const used = new Set<string>()
  for (const step of steps) {
    if (step.kind === 'request') for (const [, found] of JSON.stringify(step.body).matchAll(VARIABLE)) used.add(found)
  }
  const lines = [`scenario ${JSON.stringify(name)}`]
  for (const [index, step] of steps.entries()) {
    if (step.kind === 'disconnect') {
      lines.push(`  disconnect ${step.on}`)
      continue
    }
    const head = `  ${step.on}: ${step.api.name} v${step.version} `
    const odd = step.cut ? ` cut ${step.cut}` : step.extra ? ` extra ${step.extra}` : ''
    lines.push(head + (step.hex === undefined ? printBlock(step.body, 2, head.length) : `hex:${step.hex}`) + odd)
    const bound = Object.entries(step.bind).filter(([, variable]) => used.has(variable))
    if (bound.length > 0) lines.push(`  expect has ${printBlock(expected(bound), 2, 14)}`)
    if (changesMetadata(step)) lines.push('  wait 200ms')
    if (difference?.index === index) {
      lines.push(
        `  # ${difference.path || 'the answer'}: Kafka ${text(difference.kafka)}, Ottla ${text(difference.ottla)}`,
      )
      lines.push(
        ...commented(`Kafka: ${text(difference.answers.kafka)}`),
        ...commented(`Ottla: ${text(difference.answers.ottla)}`),
      )
    }
  }
  return lines.join('\n')
}

function commented(line: string): string[] {
  return [`  # ${line}`]
}

function text(value: Json | undefined): string {
  const shown = value === undefined ? 'nothing' : JSON.stringify(value)
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown
}

/** The nested value that the paths of variables name. */
function expected(bound: readonly (readonly [path: string, variable: string])[]): Json {
  const root: JsonObject = {}
  for (const [path, variable] of bound) {
    const [first, ...rest] = path.split('.')
    root[first] = rest.length === 0 ? `$${variable}` : [{ [rest[1]]: `$${variable}` }]
  }
  return root
}
