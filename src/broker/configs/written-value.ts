import { type ConfigDefinition, splitList } from './config-definition.ts'

/**
 * A config value as it reads once Kafka has parsed it (`ConfigDef.parseType`, then `convertToString`): without blanks around it,
 * numbers in their shortest form, lists without what they have twice. What is stored stays as it was given.
 */
export function writtenValue(type: ConfigDefinition['type'], value: string): string {
  const trimmed = value.trim()
  switch (type) {
    case 'int':
    case 'short':
    case 'long':
      return /^[+-]?\d+$/.test(trimmed) ? String(BigInt(trimmed.replace('+', ''))) : trimmed
    case 'double':
      return writtenDouble(Number(trimmed))
    case 'boolean':
      return trimmed.toLowerCase()
    case 'list':
      return [...new Set(splitList(value))].join(',')
    case 'password':
      return value
    default:
      return trimmed
  }
}

/** As Java writes it: there is always a digit behind the point. */
function writtenDouble(number: number): string {
  return Number.isInteger(number) ? `${number}.0` : String(number)
}
