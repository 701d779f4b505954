/**
 * JSON values as they stand in scenarios, and a parser that takes what people like to write: comments, names without quotes,
 * single quotes, commas at the end. It does not know what the values mean.
 */

export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isContainer(value: Json | undefined): value is Json[] | JsonObject {
  return typeof value === 'object' && value !== null
}

/** A plain value as text; what has members has none. */
export function textOf(value: Json | undefined): string {
  return value === undefined || isContainer(value) ? '' : String(value)
}

/** True when `value` has this field, whatever it is called. */
export function has(value: Json | undefined, name: string): value is JsonObject {
  return isObject(value) && Object.hasOwn(value, name)
}

/** The index behind the JSON that begins at `start`: the bracket that closes it, strings and `#` comments left aside. */
export function endOfJson(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const char = text[at]
    if (char === '"' || char === "'") {
      for (at++; at < text.length && text[at] !== char; at++) if (text[at] === '\\') at++
    } else if (char === '#') {
      while (at < text.length && text[at] !== '\n') at++
    } else if (char === '{' || char === '[') depth++
    else if ((char === '}' || char === ']') && --depth === 0) return at + 1
  }
  throw new SyntaxError('JSON without an end')
}

/** Parses relaxed JSON. @throws SyntaxError */
export function parseJson(text: string): Json {
  const parser = new Parser(text)
  const value = parser.value()
  parser.end()
  return value
}

const TOKEN = /[\w.+-]+/y
const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): Json {
    const char = this.#next()
    if (char === '{') return this.#object()
    if (char === '[') return this.#array()
    if (char === '"' || char === "'") return this.#string()
    const word = this.#word()
    if (word === 'null') return null
    if (word === 'true' || word === 'false') return word === 'true'
    if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(word)) throw this.#wrong(`what is ${word}?`)
    return Number(word)
  }

  end(): void {
    if (this.#next() !== undefined) throw this.#wrong('something is left over')
  }

  #object(): JsonObject {
    const value: JsonObject = {}
    for (this.#at++; this.#next() !== '}'; this.#comma('}')) {
      const char = this.#next()
      const name = char === '"' || char === "'" ? this.#string() : this.#word()
      if (this.#next() !== ':') throw this.#wrong(`a colon is missing behind ${name}`)
      this.#at++
      value[name] = this.value()
    }
    this.#at++
    return value
  }

  #array(): Json[] {
    const values: Json[] = []
    for (this.#at++; this.#next() !== ']'; this.#comma(']')) values.push(this.value())
    this.#at++
    return values
  }

  #comma(close: string): void {
    const char = this.#next()
    if (char === ',') this.#at++
    else if (char !== close) throw this.#wrong('a comma is missing')
  }

  #string(): string {
    const quote = this.#text[this.#at++]
    let value = ''
    for (; this.#text[this.#at] !== quote; this.#at++) {
      if (this.#at >= this.#text.length) throw this.#wrong('a string has no end')
      if (this.#text[this.#at] !== '\\') {
        value += this.#text[this.#at]
        continue
      }
      const escaped = this.#text[++this.#at]
      if (escaped === 'u') {
        value += String.fromCharCode(Number.parseInt(this.#text.slice(this.#at + 1, this.#at + 5), 16))
        this.#at += 4
      } else value += ESCAPES[escaped] ?? escaped
    }
    this.#at++
    return value
  }

  #word(): string {
    TOKEN.lastIndex = this.#at
    const [word] = TOKEN.exec(this.#text) ?? []
    if (word === undefined) throw this.#wrong('a value is missing')
    this.#at += word.length
    return word
  }

  /** Passes blanks and comments, and gives back the character that follows. */
  #next(): string | undefined {
    const blank = /(?:\s+|#[^\n]*|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
    blank.lastIndex = this.#at
    this.#at += blank.exec(this.#text)?.[0].length ?? 0
    return this.#text[this.#at]
  }

  #wrong(message: string): SyntaxError {
    return new SyntaxError(`JSON: ${message} at ${JSON.stringify(this.#text.slice(this.#at, this.#at + 30))}`)
  }
}
