import { has, isContainer, isObject, type Json, type JsonObject, textOf } from './json.ts'
import { type Names, variableIn } from './names.ts'
import { back, printLine } from './print.ts'

/**
 * Compares what is expected with what was answered. Matchers (`"*"`, `"~regex"`, `">0"`, …), variables and `"..."` are known
 * here. Lists compare in any order, except those in which Kafka's order means something.
 */

/** The text of errors is for people: it is compared only where a scenario has a pattern for it. */
const TEXTS = new Set(['errorMessage', 'batchIndexErrorMessage', 'message'])
const ORDERED = new Set(['records', 'batches', 'abortedTransactions', 'replicaNodes', 'replicas'])
const AT_LEAST = /^>=?-?\d+$/
/** Fields by which an element of a list is found again. */
const KEYS =
  'name topicName topicId partitionIndex partition index groupId memberId key resourceName producerId apiKey transactionalId instanceId'
const KEY_FIELDS = KEYS.split(' ')

export type Variables = Map<string, Json>

export function isText(field: string): boolean {
  return TEXTS.has(field)
}

export function isMatcher(text: string): boolean {
  return ['*', '+', 'recent', '...'].includes(text) || /^[~!]/.test(text) || AT_LEAST.test(text)
}

/** Undefined when they agree, else the first difference with its path. Variables met first are put into `variables`. */
export function difference(
  expected: Json,
  answer: Json | undefined,
  names: Names,
  options: { variables?: Variables; partial?: boolean } = {},
): string | undefined {
  const { variables = names.variables, partial = false } = options
  return new Match(names, partial).diff(expected, answer, variables, '')
}

class Match {
  readonly #names: Names
  readonly #partial: boolean

  constructor(names: Names, partial: boolean) {
    this.#names = names
    this.#partial = partial
  }

  diff(expected: Json, answer: Json | undefined, variables: Variables, path: string): string | undefined {
    if (typeof expected === 'string') return this.#text(expected, answer, variables, path)
    if (answer === undefined) return this.#wrong(path, printLine(expected, this.#names), answer)
    if (Array.isArray(expected)) {
      if (!Array.isArray(answer)) return this.#wrong(path, 'an array', answer)
      return this.#array(expected, answer, variables, path)
    }
    if (isObject(expected)) {
      if (!isObject(answer)) return this.#wrong(path, 'an object', answer)
      return this.#object(expected, answer, variables, path)
    }
    return expected === answer ? undefined : this.#wrong(path, String(expected), answer)
  }

  #text(text: string, answer: Json | undefined, variables: Variables, path: string): string | undefined {
    const names = this.#names
    if (text === '*') return undefined
    if (text === '+') {
      const empty = answer === undefined || answer === null || answer === ''
      return empty ? this.#wrong(path, 'a value', answer) : undefined
    }
    if (text.startsWith('~') && answer !== undefined && !isContainer(answer)) {
      const pattern = new RegExp(`^(?:${names.text(text.slice(1))})$`, 's')
      return pattern.test(textOf(answer)) ? undefined : this.#wrong(path, text, answer)
    }
    if (text.startsWith('!') && typeof answer === 'string') {
      if (answer !== names.text(text.slice(1))) return undefined
      return this.#wrong(path, `anything but ${text.slice(1)}`, answer)
    }
    if (AT_LEAST.test(text) && typeof answer === 'number') {
      const bound = Number(text.replace(/[>=]/g, ''))
      const fits = text.startsWith('>=') ? answer >= bound : answer > bound
      return fits ? undefined : this.#wrong(path, text, answer)
    }
    const variable = variableIn(text)
    if (variable !== undefined) return this.#variable(text, variable, answer, variables, path)
    return answer === names.text(text) ? undefined : this.#wrong(path, `"${text}"`, answer)
  }

  #variable(
    text: string,
    { name, plus }: { name: string; plus: number | undefined },
    answer: Json | undefined,
    variables: Variables,
    path: string,
  ): string | undefined {
    const value = variables.get(name)
    if (value !== undefined) {
      const wanted = plus === undefined ? textOf(value) : String(Number(value) + plus)
      const fits = answer !== undefined && !isContainer(answer) && textOf(answer) === wanted
      return fits ? undefined : this.#wrong(path, text, answer)
    }
    const empty = answer === undefined || answer === null || isContainer(answer) || answer === ''
    if (empty || plus !== undefined) return this.#wrong(path, `${text} (not known yet)`, answer)
    // Variables named by `record` (member1, member2, …) stand for different values.
    if (/^(member|pid|session|topic)\d+$/.test(name)) {
      for (const [other, known] of variables) {
        if (standsFor(other, known, answer)) return this.#wrong(path, `another value than $${other}`, answer)
      }
    }
    variables.set(name, answer)
    return undefined
  }

  #object(expected: JsonObject, answer: JsonObject, variables: Variables, path: string): string | undefined {
    const seen = new Set<string>()
    for (const [field, wanted] of Object.entries(expected)) {
      if (field === '...') continue
      const name = this.#names.text(field)
      const at = `${path}.${field}`
      seen.add(name)
      if (!Object.hasOwn(answer, name)) return `${at}: missing`
      if (isText(name) && !(typeof wanted === 'string' && wanted.startsWith('~'))) continue
      const found = this.diff(wanted, answer[name], variables, at)
      if (found !== undefined) return found
    }
    if (this.#partial || has(expected, '...')) return undefined
    for (const [name, value] of Object.entries(answer)) {
      if (!seen.has(name)) return `${path}.${back(name, this.#names)}: unexpected, ${printLine(value, this.#names)}`
    }
    return undefined
  }

  #array(expected: Json[], answer: Json[], variables: Variables, path: string): string | undefined {
    const wanted = expected.filter(item => item !== '...')
    // A list of plain numbers, such as an ISR, is meant as a whole.
    const numbers = expected.every(item => typeof item === 'number')
    const open = wanted.length < expected.length || (this.#partial && !numbers)
    if (!open) {
      if (wanted.length !== answer.length) {
        const got = printLine(answer, this.#names)
        return `${path}: expected ${wanted.length} elements, got ${answer.length}: ${got}`
      }
      const first = this.#inOrder(wanted, answer, variables, path)
      if (first === undefined || ORDERED.has(path.slice(path.lastIndexOf('.') + 1))) return first
    }
    return this.#inAnyOrder(wanted, answer, variables, path)
  }

  #inOrder(wanted: Json[], answer: Json[], variables: Variables, path: string): string | undefined {
    const tried = new Map(variables)
    for (const [index, item] of wanted.entries()) {
      const found = this.diff(item, answer[index], tried, `${path}[${index}]`)
      if (found !== undefined) return found
    }
    for (const [name, value] of tried) variables.set(name, value)
    return undefined
  }

  /** Each expected element takes the first answered one that fits. */
  #inAnyOrder(wanted: Json[], answer: Json[], variables: Variables, path: string): string | undefined {
    const used = new Set<number>()
    for (const [index, item] of wanted.entries()) {
      let best: { text: string; score: number } | undefined
      const taken = answer.findIndex((candidate, at) => {
        if (used.has(at)) return false
        const tried = new Map(variables)
        const found = this.diff(item, candidate, tried, `${path}[${index}]`)
        if (found === undefined) {
          for (const [name, value] of tried) variables.set(name, value)
          return true
        }
        const score = (sameKey(item, candidate, this.#names) ? 1000 : 0) + Math.min(found.indexOf(':'), 900)
        if (best === undefined || score > best.score) best = { text: found, score }
        return false
      })
      if (taken < 0) return best?.text ?? `${path}: no element ${printLine(item, this.#names)}`
      used.add(taken)
    }
    return undefined
  }

  #wrong(path: string, wanted: string, answer: Json | undefined): string {
    const got = answer === undefined ? 'nothing' : printLine(answer, this.#names)
    return `${path === '' ? '.' : path}: expected ${wanted}, got ${got}`
  }
}

/** True when both are about the same topic, partition, group, … */
export function sameKey(expected: Json, answer: Json, names: Names): boolean {
  for (const field of KEY_FIELDS) {
    if (has(expected, field) && has(answer, field)) return names.text(textOf(expected[field])) === textOf(answer[field])
  }
  return false
}

/** True when a variable stands for this id, and not for a number that is the same by accident. */
export function standsFor(variable: string, value: Json, id: Json): boolean {
  if ((typeof value === 'string') !== (typeof id === 'string') || textOf(value) !== textOf(id)) return false
  return variable !== 'broker' && variable !== 'port' && !variable.toLowerCase().includes('epoch')
}
