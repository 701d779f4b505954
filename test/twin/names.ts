import { type Json, type JsonObject, textOf } from './json.ts'

/**
 * What one run of a scenario knows by name: `@topic` and its random suffix, `$variables`, topic ids it was told, and the time
 * it calls `now`. It knows nothing of requests and answers.
 */

/** The broker that a scenario is played against. */
export interface Target {
  readonly host: string
  readonly port: number
  /** Undefined where several brokers are, which stand by their own numbers. */
  readonly nodeId: number | undefined
  readonly clusterId: string
  /** Several brokers: where each of them listens. */
  readonly brokers?: readonly { readonly nodeId: number; readonly port: number }[]
}

/** A step did not go as written; the message says how. */
export class Failed extends Error {
  override readonly name = 'Failed'
}

const NAME = /@([a-z][a-z0-9]*)/g
const EMBEDDED = /\$\{([\w.]+)\}/g
const VARIABLE = /^\$([A-Za-z][\w.]*?)([+-]\d+)?$/
const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA'
const HOUR_MS = 3_600_000

/** `"$pid+1"` taken apart, or undefined for any other text. */
export function variableIn(text: string): { name: string; plus: number | undefined } | undefined {
  const match = VARIABLE.exec(text)
  if (match === null) return undefined
  return { name: match[1], plus: match[2] === undefined ? undefined : Number(match[2]) }
}

export class Names {
  readonly target: Target
  readonly suffix: string
  /** When the scenario began, and the time it calls `now`: an hour before, never mistaken for one the broker made. */
  readonly start: number
  readonly now: number
  readonly variables: Map<string, Json>
  readonly #clock: () => number
  readonly #ids = new Map<string, string>()
  readonly #topics = new Map<string, string>()

  constructor(target: Target, clock: () => number, random: () => number) {
    this.target = target
    this.#clock = clock
    this.start = clock()
    this.now = this.start - HOUR_MS
    this.suffix = Math.floor(1e8 + random() * 2e9).toString(36)
    this.variables = new Map<string, Json>([
      ['host', target.host],
      ['port', target.port],
      ['cluster', target.clusterId],
    ])
    if (target.nodeId !== undefined) this.variables.set('broker', target.nodeId)
    for (const { nodeId, port } of target.brokers ?? []) this.variables.set(`port${nodeId}`, port)
  }

  /** `@orders` becomes `orders-x7k2`, `${member}` its value. */
  text(text: string): string {
    return text
      .replace(NAME, (_, name: string) => `${name}-${this.suffix}`)
      .replace(EMBEDDED, (_, name: string) => textOf(this.#need(name)))
  }

  /** A text as what it stands for; anything else as it is. */
  resolve(value: Json): Json {
    if (typeof value !== 'string') return value
    const variable = variableIn(value)
    if (variable === undefined) return this.text(value)
    const known = this.#need(variable.name)
    return variable.plus === undefined ? known : Number(known) + variable.plus
  }

  /** A time as the scenario writes it. */
  time(time: number): Json {
    if (Math.abs(time - this.now) < HOUR_MS / 2) return `now${time >= this.now ? '+' : ''}${time - this.now}`
    if (time >= this.start - 10_000 && time <= this.#clock() + 10_000) return 'recent'
    return time
  }

  /** Remembers the id of a topic that stands in an answer beside its name. */
  learn(answer: Record<string, unknown>): void {
    const { topicId } = answer
    if (typeof topicId !== 'string' || topicId === ZERO_UUID) return
    for (const field of ['name', 'topicName', 'topic']) {
      const name = answer[field]
      if (typeof name !== 'string' || name === '') continue
      this.#ids.set(name, topicId)
      this.#topics.set(topicId, name)
      if (name.endsWith(`-${this.suffix}`)) this.variables.set(`${name.slice(0, -this.suffix.length - 1)}.id`, topicId)
    }
  }

  /** The id of a topic, or what is an id itself. */
  idOf(topic: string): string | undefined {
    return this.#ids.get(topic) ?? (/^[\w-]{22}$/.test(topic) ? topic : undefined)
  }

  /** The topic that has this id now; an id that none has stands as it is. */
  topicOf(id: string): string {
    const name = this.#topics.get(id)
    if (name !== undefined && this.#ids.get(name) === id) return name
    return id === ZERO_UUID ? '' : id
  }

  #need(name: string): Json {
    const value = this.variables.get(name)
    if (value === undefined) throw new Failed(`no value for $${name}`)
    return value
  }
}

/** The fields of an object in which names and ids are put in. */
export function resolveKeys(object: JsonObject, names: Names): [string, Json][] {
  return Object.entries(object).map(([name, value]) => [names.text(name), value])
}
