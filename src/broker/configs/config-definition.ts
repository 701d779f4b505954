import type { ConfigRow, ConfigTypeName } from './config-row.ts'

/**
 * A config as it is known: its type, default and what values it takes. Checks are those of Kafka's `ConfigDef`; values stay
 * text, since 64-bit bounds do not fit a JavaScript number, and are read as numbers where they are used.
 */
export interface ConfigDefinition {
  readonly name: string
  readonly type: ConfigTypeName
  readonly defaultValue: string | null
  readonly dynamic: boolean
  readonly internal: boolean
  /** What is wrong with `value`, or undefined. */
  check(value: string): string | undefined
}

/** The numbers that DescribeConfigs uses for types (`ConfigResponse` in DescribeConfigsResponse). */
export const CONFIG_TYPE_IDS: Readonly<Record<ConfigTypeName, number>> = {
  boolean: 1,
  string: 2,
  int: 3,
  short: 4,
  long: 5,
  double: 6,
  list: 7,
  class: 8,
  password: 9,
}

export function defineConfigs(rows: readonly ConfigRow[]): ReadonlyMap<string, ConfigDefinition> {
  return new Map(rows.map(row => [row[0], defineConfig(row)]))
}

function defineConfig([name, type, defaultValue, valid = '', flags = '']: ConfigRow): ConfigDefinition {
  const checkRange = rangeCheck(type, valid)
  return {
    name,
    type,
    defaultValue: defaultValue ?? null,
    dynamic: flags.includes('dynamic'),
    internal: flags.includes('internal'),
    check(value) {
      const trimmed = value.trim()
      const wrong = checkType(type, trimmed) ?? checkRange(trimmed)
      return wrong && `Invalid value ${value} for configuration ${name}: ${wrong}`
    },
  }
}

const INTEGER_BOUNDS: Partial<Record<ConfigTypeName, bigint>> = { short: 1n << 15n, int: 1n << 31n, long: 1n << 63n }

function checkType(type: ConfigTypeName, value: string): string | undefined {
  const bound = INTEGER_BOUNDS[type]
  if (bound !== undefined) {
    const number = /^[+-]?\d{1,19}$/.test(value) ? BigInt(value.replace('+', '')) : undefined
    const fits = number !== undefined && number >= -bound && number < bound
    return fits ? undefined : `Not a number of type ${type.toUpperCase()}`
  }
  if (type === 'double')
    return value === 'NaN' || (value !== '' && Number.isFinite(Number(value)))
      ? undefined
      : 'Not a number of type DOUBLE'
  if (type === 'boolean' && !/^(true|false)$/i.test(value)) return 'Expected value to be either true or false'
  return undefined
}

const RANGE = /^\[(-?[\d.]+?),\.\.\.(?:,(-?[\d.]+))?\](?: or (-?\d+))?$/

/** Stands for any ISO 8601 duration of days, hours, minutes and seconds. */
const DURATION = 'by_duration:PnDTnHnMn.nS'

function isDuration(value: string): boolean {
  return /^by_duration:P(?=[\dT])(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$/i.test(value)
}

const REPLICA_LIST = '[partitionId]:[brokerId],[partitionId]:[brokerId],...'

/** Replicas to throttle: pairs of numbers, or `*` alone for all. */
function checkReplicaList(value: string): string | undefined {
  const items = splitList(value)
  const valid = (items.length === 1 && items[0] === '*') || items.every(item => /^(\d+:\d+)?$/.test(item))
  return valid ? undefined : `must be the literal '*' or a list of replicas in the form: ${REPLICA_LIST}`
}

function rangeCheck(type: ConfigTypeName, valid: string): (value: string) => string | undefined {
  if (valid === REPLICA_LIST) return checkReplicaList
  const range = RANGE.exec(valid)
  if (range !== null) {
    const [, low, high, also] = range
    return value => {
      const number = Number(value)
      if (also !== undefined && number === Number(also)) return undefined
      if (number < Number(low)) return `Value must be at least ${low}`
      return high !== undefined && number > Number(high) ? `Value must be no more than ${high}` : undefined
    }
  }
  const choice = /^(\(case insensitive\) )?\[([\w, :.]+)\]$/.exec(valid)
  if (choice === null) {
    return value => (valid.startsWith('non-empty') && value === '' ? `${valid} must not be empty` : undefined)
  }
  const choices = choice[2].split(', ')
  const fold = (text: string) => (choice[1] === undefined ? text : text.toUpperCase())
  return value => {
    const items = type === 'list' ? splitList(value) : [value]
    return items.every(item => choices.includes(fold(item)) || (choices.includes(DURATION) && isDuration(item)))
      ? undefined
      : `String must be one of: ${choices.join(', ')}`
  }
}

/** The elements of a list value. */
export function splitList(value: string): string[] {
  return value.trim() === '' ? [] : value.split(',').map(item => item.trim())
}

/** A numeric value; what exceeds 2^53 reads as the largest exact integer, which stands for "no limit". */
export function toNumber(value: string): number {
  return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(value.trim())))
}
