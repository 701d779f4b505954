import { has, isContainer, isObject, type Json, type JsonObject, textOf } from './json.ts'
import { difference, isMatcher, isText, sameKey, standsFor } from './match.ts'
import { Failed, type Names, variableIn } from './names.ts'
import { back, printBlock, printLine } from './print.ts'
import type { Step } from './script.ts'

/**
 * Turns an answer into an expectation, for `record`: matchers and variables that the author wrote stay where they fit, ids
 * become variables, the broker's own numbers `$broker` and `$port`.
 */

/** For each step the text that stands for its `expect`. */
export type Expectations = Map<Step, string>

const BROKER_FIELDS =
  'nodeId leaderId leader brokerId controllerId replicaNodes isrNodes replicas isr offlineReplicas addingReplicas eligibleLeaderReplicas lastKnownElr replicaId'
const BROKERS = new Set(BROKER_FIELDS.split(' '))
/** Epochs of a group are written relative to `$epoch` when the scenario has bound it. */
const EPOCHS = new Set(['memberEpoch', 'groupEpoch', 'assignmentEpoch'])
const IDS: Record<string, string> = {
  memberId: 'member',
  leader: 'member',
  producerId: 'pid',
  sessionId: 'session',
  topicId: 'topic',
}
const NUMBERED = /^\$(member|pid|session|topic)\d+$/
const ZERO_UUID = 'AAAAAAAAAAAAAAAAAAAAAA'

/** Puts down what to write for a step that was answered. A partial `expect` is checked and kept. */
export function writeExpectation(recorded: Expectations, step: Step, answer: JsonObject, names: Names): void {
  const { expect } = step
  if (step.ok && expect === undefined) return
  if (expect?.partial && expect.json !== undefined) {
    const found = difference(expect.json, answer, names, { partial: true })
    if (found !== undefined) throw new Failed(`(kept partial expect) ${found} in ${printLine(answer, names)}`)
    return
  }
  bind(expect?.json, answer, names)
  const author = new Author(names, JSON.stringify(step.body))
  recorded.set(step, `expect ${printBlock(author.merge(expect?.json, answer, ''), 2, 9)}`)
}

/** Variables the author named are bound first, so that ids elsewhere in the answer get those names. */
function bind(old: Json | undefined, answer: Json | undefined, names: Names): void {
  if (typeof old === 'string') {
    const variable = NUMBERED.test(old) ? undefined : bindable(old, answer, names)
    if (variable !== undefined) names.variables.set(variable, answer as Json)
  } else if (isObject(old) && isObject(answer)) {
    for (const [name, member] of Object.entries(old)) if (name !== '...') bind(member, answer[names.text(name)], names)
  } else if (Array.isArray(old) && Array.isArray(answer)) {
    for (const [index, item] of old.slice(0, answer.length).entries()) bind(item, answer[index], names)
  }
}

/** The variable that `text` names, if it has no value yet and `answer` can be one. */
function bindable(text: string, answer: Json | undefined, names: Names): string | undefined {
  const variable = variableIn(text)
  if (variable === undefined || variable.plus !== undefined || names.variables.has(variable.name)) return undefined
  if (answer === undefined || answer === null || answer === '' || isContainer(answer)) return undefined
  return variable.name
}

class Author {
  readonly #names: Names
  /** The request as text: what the author wrote there is no discovered id. */
  readonly #request: string

  constructor(names: Names, request: string) {
    this.#names = names
    this.#request = request
  }

  merge(old: Json | undefined, answer: Json, field: string): Json {
    if (typeof old === 'string' && !NUMBERED.test(old) && this.#keeps(old, answer)) return old
    // The hint means something beside NOT_LEADER errors only.
    if (field === 'currentLeader' && !this.#means(answer)) return '*'
    if (Array.isArray(answer)) return this.#array(old, answer, field)
    if (isObject(answer)) return this.#object(old, answer)
    if (typeof answer === 'number' && Number.isInteger(answer)) return this.#number(answer, field)
    return typeof answer === 'string' ? this.#text(answer, field) : answer
  }

  /** True of a hint that names a leader; that of a broker alone does not from its first epoch. */
  #means(hint: Json): boolean {
    if (!has(hint, 'leaderEpoch')) return false
    return this.#names.target.nodeId === undefined || Number(hint.leaderEpoch) > 0
  }

  #keeps(old: string, answer: Json): boolean {
    const names = this.#names
    const variable = bindable(old, answer, names)
    if (variable !== undefined) {
      names.variables.set(variable, answer)
      return true
    }
    if (!isMatcher(old) && variableIn(old) === undefined) return false
    return difference(old, answer, names, { variables: new Map(names.variables) }) === undefined
  }

  #object(old: Json | undefined, answer: JsonObject): Json {
    const names = this.#names
    const open = has(old, '...')
    const known = new Map<string, Json>()
    if (isObject(old)) for (const [name, member] of Object.entries(old)) known.set(names.text(name), member)
    const shown: JsonObject = {}
    for (const [name, member] of Object.entries(answer)) {
      if (!open || known.has(name)) shown[back(name, names)] = this.merge(known.get(name), member, name)
    }
    if (open) shown['...'] = old['...']
    return shown
  }

  #array(old: Json | undefined, answer: Json[], field: string): Json {
    if (!Array.isArray(old)) return answer.map(item => this.merge(undefined, item, field))
    const names = this.#names
    const items = old.filter(item => item !== '...')
    if (items.length < old.length) return [...this.#found(items, answer, field), '...']
    return answer.map((item, index) => {
      const same = items.find(each => isObject(each) && sameKey(each, item, names))
      return this.merge(same ?? items[index], item, field)
    })
  }

  /** Of an open list only those elements stay that the author named. */
  #found(items: Json[], answer: Json[], field: string): Json[] {
    const names = this.#names
    const left = [...answer]
    return items.flatMap(item => {
      const at = left.findIndex(candidate =>
        isObject(item) ? sameKey(item, candidate, names) : difference(item, candidate, names) === undefined,
      )
      return at < 0 ? [] : [this.merge(item, left.splice(at, 1)[0], field)]
    })
  }

  #number(answer: number, field: string): Json {
    const { variables, target } = this.#names
    const epoch = Number(variables.get('epoch') ?? Number.NaN)
    if (EPOCHS.has(field) && answer >= epoch && answer < epoch + 9) {
      return answer === epoch ? '$epoch' : `$epoch+${answer - epoch}`
    }
    if (field === 'coordinatorEpoch' && answer >= 0) return '>=0'
    if (BROKERS.has(field) && answer === target.nodeId) return '$broker'
    if (field === 'port') {
      const broker = target.brokers?.find(each => each.port === answer)
      if (broker !== undefined) return `$port${broker.nodeId}`
      if (answer === target.port) return '$port'
    }
    if ((field === 'producerId' && answer >= 0) || (field === 'sessionId' && answer > 0)) {
      return this.#variable(field, answer)
    }
    return answer
  }

  #text(answer: string, field: string): Json {
    const names = this.#names
    if (field === 'host' && answer === names.target.host) return '$host'
    const isId = field === 'memberId' || field === 'leader' || field === 'topicId'
    if (isId && answer.length > 12 && answer !== ZERO_UUID && !answer.includes(names.suffix)) {
      if (!this.#request.includes(answer)) return this.#variable(field, answer)
    }
    if (answer === 'UNKNOWN_SERVER_ERROR') return '!NONE'
    return back(isText(field) ? answer.replace(/\b1[0-9]{12}\b/g, '<time>') : answer, names)
  }

  #variable(field: string, answer: Json): string {
    const { variables } = this.#names
    for (const [name, value] of variables) if (standsFor(name, value, answer)) return `$${name}`
    for (let number = 1; ; number++) {
      const name = `${textOf(IDS[field])}${number}`
      if (variables.has(name)) continue
      variables.set(name, answer)
      return `$${name}`
    }
  }
}
