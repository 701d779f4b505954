import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { endOfJson, type Json, parseJson } from './json.ts'

/**
 * A scenario file read into steps. Each step knows its place in the text, so that `record` can put answers in. What the
 * steps mean is told in README.md beside this file.
 */

export type StepKind =
  | 'send'
  | 'bytes'
  | 'frame'
  | 'await'
  | 'pending'
  | 'wait'
  | 'disconnect'
  | 'connect'
  | 'topic'
  | 'group'
  | 'state'
  | Fault

/** What befalls one broker of several. */
export type Fault = 'kill' | 'stop' | 'restart' | 'pause' | 'resume'

export interface Step {
  readonly kind: StepKind
  /** Where it stands: its line from 1, that line as text, and the index behind its text. */
  readonly line: number
  readonly source: string
  end: number
  /** The connection, topic, group or broker it is about, or the request it waits for. */
  name: string
  api: string
  version: number
  body: Json
  hex: string | undefined
  /** `as p`: the request is sent and not waited for. */
  as: string | undefined
  ok: boolean
  cut: number
  extra: number
  until: Json | undefined
  /** How long; undefined when the step does not say. */
  ms: number | undefined
  everyMs: number
  readonly options: Map<string, string>
  expect: Expect | undefined
}

export interface Expect {
  readonly json: Json | undefined
  readonly partial: boolean
  readonly closed: boolean
  readonly nothing: boolean
  readonly ms: number | undefined
  readonly start: number
  readonly end: number
}

export interface Scenario {
  readonly name: string
  /** Nothing else may run beside it on the same broker. */
  readonly alone: boolean
  readonly steps: Step[]
}

export interface Script {
  readonly file: string
  readonly text: string
  readonly profile: string
  readonly scenarios: readonly Scenario[]
}

/** Reads a scenario file. @throws SyntaxError with file and line */
export function readScript(path: string): Script {
  return new ScriptParser(basename(path), readFileSync(path, 'utf8')).script()
}

class ScriptParser {
  readonly #file: string
  readonly #text: string
  readonly #scenarios: Scenario[] = []
  #profile = 'main'
  #at = 0
  /** The step that an `expect` belongs to. */
  #last: Step | undefined

  constructor(file: string, text: string) {
    this.#file = file
    this.#text = text
  }

  script(): Script {
    try {
      while (this.#skipBlank()) this.#statement()
    } catch (error) {
      throw new SyntaxError(`${this.#file}:${this.#lineOf(this.#at)}: ${(error as Error).message}`, { cause: error })
    }
    return { file: this.#file, text: this.#text, profile: this.#profile, scenarios: this.#scenarios }
  }

  #statement(): void {
    const start = this.#at
    const word = this.#word()
    if (word === 'profile') this.#profile = this.#word()
    else if (word === 'scenario') this.#scenario()
    else if (word === 'expect') this.#expect(start)
    else if (word.endsWith(':')) this.#request(word.slice(0, -1), start)
    else this.#step(word, start)
    this.#space()
    if (this.#text[this.#at] === '#') this.#lineRest()
    if (this.#at < this.#text.length && this.#text[this.#at] !== '\n') {
      throw new SyntaxError(`left over: ${this.#lineRest()}`)
    }
  }

  #scenario(): void {
    const name = this.#quoted()
    this.#scenarios.push({ name, alone: this.#rest('alone'), steps: [] })
    this.#last = undefined
  }

  #expect(start: number): void {
    const step = this.#last
    if (step === undefined || step.expect !== undefined) throw new SyntaxError('expect without a step')
    const partial = this.#rest('has')
    const closed = this.#rest('closed')
    const nothing = !closed && this.#rest('nothing')
    const json = closed || nothing ? undefined : this.#json()
    const ms = this.#rest('within') ? this.#duration() : undefined
    step.expect = { json, partial, closed, nothing, ms, start, end: this.#at }
  }

  #step(word: string, start: number): void {
    switch (word) {
      case 'await':
        this.#last = this.#add(word, start)
        if (this.#rest('within')) this.#last.ms = this.#duration()
        this.#last.end = this.#at
        return
      case 'pending': {
        const step = this.#add(word, start)
        step.ms = this.#rest('for') ? this.#duration() : 200
        return
      }
      case 'wait':
        this.#add(word, start, '').ms = this.#duration()
        return
      case 'disconnect':
      case 'kill':
      case 'stop':
      case 'restart':
      case 'pause':
      case 'resume':
        this.#add(word, start)
        return
      case 'connect':
      case 'topic':
      case 'group':
      case 'state':
        this.#options(this.#add(word, start))
        return
      default:
        throw new SyntaxError(`what is '${word}'?`)
    }
  }

  #request(connection: string, start: number): void {
    const api = this.#word()
    const raw = api === 'bytes' || api === 'frame'
    const step = this.#add(raw ? api : 'send', start, connection)
    this.#last = step
    if (raw) step.hex = this.#lineRest()
    else {
      step.api = api
      step.version = Number.parseInt(this.#word().slice(1), 10)
      this.#space()
      if (this.#text[this.#at] === '{') step.body = this.#json()
      else if (this.#text.startsWith('hex:', this.#at)) step.hex = this.#word().slice(4)
      while (this.#modifier(step)) {}
    }
    step.end = this.#at
  }

  #modifier(step: Step): boolean {
    if (this.#rest('as')) step.as = this.#word()
    else if (this.#rest('ok')) step.ok = true
    else if (this.#rest('cut')) step.cut = Number.parseInt(this.#word(), 10)
    else if (this.#rest('extra')) step.extra = Number.parseInt(this.#word(), 10)
    else if (this.#rest('until')) step.until = this.#json()
    else if (this.#rest('within')) step.ms = this.#duration()
    else if (this.#rest('every')) step.everyMs = this.#duration()
    else return false
    return true
  }

  #add(kind: StepKind, start: number, name = this.#word()): Step {
    const scenario = this.#scenarios.at(-1)
    if (scenario === undefined) throw new SyntaxError('a step before the first scenario')
    const end = this.#text.indexOf('\n', start)
    const step: Step = {
      kind,
      line: this.#lineOf(start),
      source: this.#text.slice(start, end < 0 ? undefined : end).trim(),
      end: this.#at,
      name,
      api: '',
      version: 0,
      body: {},
      hex: undefined,
      as: undefined,
      ok: false,
      cut: 0,
      extra: 0,
      until: undefined,
      ms: undefined,
      everyMs: 100,
      options: new Map(),
      expect: undefined,
    }
    scenario.steps.push(step)
    return step
  }

  #options(step: Step): void {
    for (this.#space(); !['\n', '#', undefined].includes(this.#text[this.#at]); this.#space()) {
      const word = this.#word()
      const equals = word.indexOf('=')
      step.options.set(word.slice(0, equals), word.slice(equals + 1))
    }
  }

  #json(): Json {
    this.#space()
    const start = this.#at
    this.#at = endOfJson(this.#text, start)
    return parseJson(this.#text.slice(start, this.#at))
  }

  #duration(): number {
    const word = this.#word()
    return word.endsWith('ms') ? Number(word.slice(0, -2)) : Number(word.slice(0, -1)) * 1000
  }

  #quoted(): string {
    this.#space()
    const end = this.#text.indexOf('"', this.#at + 1)
    const quoted = this.#text.slice(this.#at + 1, end)
    this.#at = end + 1
    return quoted
  }

  #lineRest(): string {
    this.#space()
    const end = this.#text.indexOf('\n', this.#at)
    const rest = this.#text.slice(this.#at, end < 0 ? undefined : end)
    this.#at += rest.length
    return rest.trim()
  }

  /** Passes `word` if it is the next one. */
  #rest(word: string): boolean {
    this.#space()
    if (!this.#text.startsWith(word, this.#at)) return false
    const next = this.#text[this.#at + word.length]
    if (next !== undefined && !/\s/.test(next)) return false
    this.#at += word.length
    return true
  }

  #word(): string {
    this.#space()
    const pattern = /\S+/y
    pattern.lastIndex = this.#at
    const [word] = pattern.exec(this.#text) ?? []
    if (word === undefined) throw new SyntaxError('a word is missing')
    this.#at += word.length
    return word
  }

  #space(): void {
    while (this.#text[this.#at] === ' ' || this.#text[this.#at] === '\t') this.#at++
  }

  /** Passes blank lines and comments; false at the end of the file. */
  #skipBlank(): boolean {
    for (; this.#at < this.#text.length; this.#at++) {
      if (this.#text[this.#at] === '#') this.#lineRest()
      else if (!/\s/.test(this.#text[this.#at])) return true
    }
    return false
  }

  #lineOf(index: number): number {
    let line = 1
    for (let at = 0; at < index; at++) if (this.#text[at] === '\n') line++
    return line
  }
}
