import { KafkaError } from '../../protocol/errors.ts'
import { BROKER_CONFIGS } from './broker-config-table.ts'
import { type ConfigDefinition, defineConfigs, splitList, toNumber } from './config-definition.ts'
import { SECURITY_CONFIGS } from './security-config-table.ts'

/**
 * The configs of one broker: what it was started with and what was changed since (`DynamicBrokerConfig`). The later wins:
 * dynamic for this broker, dynamic default, static, Kafka's default.
 */

export const BROKER_DEFINITIONS = defineConfigs([...BROKER_CONFIGS, ...SECURITY_CONFIGS])

/** Where a value comes from, as DescribeConfigs numbers it. */
export const CONFIG_SOURCE = {
  topic: 1,
  dynamicBroker: 2,
  dynamicDefaultBroker: 3,
  staticBroker: 4,
  default: 5,
} as const

/** One of the places where a config has a value. */
export interface ConfigSynonym {
  readonly name: string
  readonly value: string
  readonly source: number
}

/** Checks configs given at the start; returns what is wrong with each, in words. */
export function checkBrokerConfigs(configs: Readonly<Record<string, string>>): string[] {
  const problems: string[] = []
  for (const [name, value] of Object.entries(configs)) {
    const definition = BROKER_DEFINITIONS.get(name)
    const problem = definition === undefined ? `Unknown broker config name: ${name}` : definition.check(value)
    if (problem !== undefined) problems.push(problem)
  }
  return problems
}

export class BrokerConfig {
  readonly #static: ReadonlyMap<string, string>
  /** Read once: requests ask for some of them each time. */
  readonly #numbers = new Map<string, number>()
  #dynamic: ReadonlyMap<string, string> = new Map()
  #dynamicDefault: ReadonlyMap<string, string> = new Map()

  constructor(given: Readonly<Record<string, string>>) {
    const problems = checkBrokerConfigs(given)
    if (problems.length > 0) throw new KafkaError('INVALID_CONFIG', problems.join('; '))
    this.#static = new Map(Object.entries(given))
  }

  /** Takes over what was changed at run time, for this broker and for all. */
  setDynamic(own: ReadonlyMap<string, string>, forAll: ReadonlyMap<string, string>): void {
    this.#numbers.clear()
    this.#dynamic = own
    this.#dynamicDefault = forAll
  }

  /** Every place where `name` has a value, the one in force first. */
  synonyms(name: string): ConfigSynonym[] {
    const found: ConfigSynonym[] = []
    const add = (value: string | null | undefined, source: number) => {
      if (value !== undefined && value !== null) found.push({ name, value, source })
    }
    add(this.#dynamic.get(name), CONFIG_SOURCE.dynamicBroker)
    add(this.#dynamicDefault.get(name), CONFIG_SOURCE.dynamicDefaultBroker)
    add(this.#static.get(name), CONFIG_SOURCE.staticBroker)
    add(BROKER_DEFINITIONS.get(name)?.defaultValue, CONFIG_SOURCE.default)
    return found
  }

  /** The names that have a value given at run time, for this broker or for all. */
  dynamicNames(): Set<string> {
    return new Set([...this.#dynamic.keys(), ...this.#dynamicDefault.keys()])
  }

  /** True when somebody gave a value, at the start or since. */
  isSet(name: string): boolean {
    return this.#static.has(name) || this.#dynamic.has(name) || this.#dynamicDefault.has(name)
  }

  /** The value in force, as text. */
  text(name: string): string | undefined {
    return (
      this.#dynamic.get(name) ??
      this.#dynamicDefault.get(name) ??
      this.#static.get(name) ??
      this.definition(name).defaultValue ??
      undefined
    )
  }

  number(name: string): number {
    let number = this.#numbers.get(name)
    if (number === undefined) {
      number = toNumber(this.text(name) as string)
      this.#numbers.set(name, number)
    }
    return number
  }

  boolean(name: string): boolean {
    return this.text(name)?.trim().toLowerCase() === 'true'
  }

  list(name: string): string[] {
    return splitList(this.text(name) ?? '')
  }

  definition(name: string): ConfigDefinition {
    const definition = BROKER_DEFINITIONS.get(name)
    if (definition === undefined) throw new KafkaError('INVALID_CONFIG', `Unknown broker config name: ${name}`)
    return definition
  }
}
