import { apiVersions } from '../../src/protocol/apis/api-versions.ts'
import { findCoordinator } from '../../src/protocol/apis/find-coordinator.ts'
import { initProducerId } from '../../src/protocol/apis/init-producer-id.ts'
import { joinGroup } from '../../src/protocol/apis/join-group.ts'
import { isFlexible, readStruct, writeStruct } from '../../src/protocol/codec.ts'
import type { Api } from '../../src/protocol/dsl.ts'
import { readResponseHeader, writeRequestHeader } from '../../src/protocol/header.ts'
import { ByteReader } from '../../src/util/byte-reader.ts'
import { ByteWriter } from '../../src/util/byte-writer.ts'
import { parseHex } from '../twin/bytes.ts'
import { isContainer, isObject, type Json, type JsonObject, textOf } from '../twin/json.ts'
import { Names } from '../twin/names.ts'
import { encodable } from '../twin/request.ts'
import { showAnswer } from '../twin/shape.ts'
import type { Request } from './sequence.ts'
import { Wire } from './wire.ts'

/**
 * One of the two brokers during one sequence: its connections, its variables, and what it answered to each step. It does not
 * compare.
 */

export interface Address {
  readonly host: string
  readonly port: number
}

export interface Answer {
  state: 'waiting' | 'answered' | 'closed' | 'silent'
  json: JsonObject | undefined
}

/** How long a broker may take to answer the player itself. */
const ASK_MS = 20_000
/** What stands for a variable that nothing gave a value to; numbers that no broker gives away within a day. */
const FALLBACKS: Record<string, Json> = {
  m: 'nobody',
  tid: 'abcdefghijklmnopqrstuA',
  pid: 9_000_001,
  gen: 1,
  session: 77,
}

export class Side {
  readonly title: string
  readonly names: Names
  /** By the number of the step. */
  readonly answers = new Map<number, Answer>()
  /** The ids that topics had, by their names, the oldest first. */
  readonly topicIds = new Map<string, string[]>()
  readonly #address: Address
  readonly #wires = new Map<string, Wire>()
  #correlationId = 0

  /** @param suffix a number in [0, 1) that makes the names of this sequence @param now when it began */
  constructor(title: string, address: Address, suffix: number, now: number) {
    this.title = title
    this.#address = address
    let began = false
    const clock = () => (began ? Date.now() : now)
    this.names = new Names({ ...address, nodeId: 1, clusterId: '' }, clock, () => suffix)
    began = true
  }

  blocked(connection: string): boolean {
    return this.#wires.get(connection)?.waiting ?? false
  }

  /** Sends a step. Its answer is put into {@link answers} when it comes. */
  async send(index: number, step: Request): Promise<void> {
    const answer: Answer = { state: 'waiting', json: undefined }
    this.answers.set(index, answer)
    const wire = await this.#wire(step.on)
    const frame = this.#frame(step)
    if (step.api.name === 'Produce' && step.hex === undefined && step.body.acks === 0) {
      wire.send(frame, undefined)
      // There is no answer; that of the next request tells that it was dealt with.
      const next: Request = { kind: 'request', on: step.on, api: apiVersions, version: 0, body: {}, bind: {} }
      wire.send(this.#frame(next), received => {
        answer.state = received === undefined ? 'closed' : 'silent'
      })
      return
    }
    wire.send(frame, received => {
      if (received === undefined) answer.state = 'closed'
      else {
        answer.json = this.#read(step, received)
        answer.state = 'answered'
      }
    })
  }

  /** Sends a request of our own and waits for what it tells. */
  async ask(api: Api, version: number, body: JsonObject): Promise<JsonObject> {
    const wire = await this.#wire('~')
    const step: Request = { kind: 'request', on: '~', api, version, body, bind: {} }
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`${this.title} does not answer ${api.name} of the player`))
      setTimeout(late, ASK_MS).unref()
      wire.send(this.#frame(step), received => {
        if (received === undefined) reject(new Error(`${this.title} closed the connection of the player`))
        else resolve(this.#read(step, received))
      })
    })
  }

  disconnect(connection: string): void {
    this.#wires.get(connection)?.close()
    this.#wires.delete(connection)
  }

  close(): void {
    for (const connection of [...this.#wires.keys()]) this.disconnect(connection)
  }

  async #wire(connection: string): Promise<Wire> {
    const open = this.#wires.get(connection)
    if (open !== undefined && !open.closed) return open
    const wire = await Wire.open(this.#address.host, this.#address.port)
    this.#wires.set(connection, wire)
    return wire
  }

  #frame(step: Request): Uint8Array {
    const { api, version } = step
    const writer = new ByteWriter()
    writer.int32(0)
    const correlationId = this.#correlationId++
    writeRequestHeader(api, { apiKey: api.key, apiVersion: version, correlationId, clientId: 'scenario' }, writer)
    if (step.hex !== undefined) writer.bytes(parseHex(step.hex))
    else {
      const body = this.#known(step.body) as JsonObject
      const value = encodable(api.name, api.request.spec.fields, body, this.names)
      writeStruct(api.request, version, isFlexible(api, version), writer, value, false)
    }
    writer.bytes(new Uint8Array(step.extra ?? 0))
    const frame = writer.finish()
    const bytes = frame.slice(0, frame.length - (step.cut ?? 0))
    new DataView(bytes.buffer).setInt32(0, bytes.length - 4)
    return bytes
  }

  /** The body with something for each variable that has no value. */
  #known(value: Json): Json {
    if (typeof value === 'string') {
      const [, variable] = /^\$([A-Za-z]\w*)$/.exec(value) ?? []
      if (variable === undefined || this.names.variables.has(variable)) return value
      return FALLBACKS[variable.replace(/\d+$/, '')] ?? 'unknown'
    }
    if (Array.isArray(value)) return value.map(item => this.#known(item))
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.#known(member)]))
  }

  #read(step: Request, frame: Uint8Array): JsonObject {
    const { api } = step
    const version = api.key === apiVersions.key && step.version > api.versions[1] ? 0 : step.version
    const reader = new ByteReader(frame)
    try {
      readResponseHeader(api, version, reader)
      const body = readStruct(api.response, version, isFlexible(api, version), reader)
      if (reader.remaining > 0) throw new Error(`${reader.remaining} bytes left over`)
      this.#learn(body)
      const json = showAnswer(api.response.spec.fields, body, version, this.names)
      for (const [path, variable] of Object.entries(step.bind)) this.#bind(path, variable, body)
      return json
    } catch (error) {
      return { undecodable: `${error}: ${Buffer.from(frame).toString('hex')}` }
    }
  }

  #bind(path: string, variable: string, body: unknown): void {
    let value = body
    for (const name of path.split('.')) value = (value as Record<string, unknown> | undefined)?.[name]
    const none = value === 0 && !variable.startsWith('pid')
    const useless = none || value === '' || value === -1 || value === null || value === undefined
    if (!useless && !isContainer(value as Json)) this.names.variables.set(variable, value as Json)
  }

  #learn(value: unknown): void {
    if (Array.isArray(value)) for (const item of value) this.#learn(item)
    else if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
      const { topicId } = value as { topicId?: unknown }
      const { name } = value as { name?: unknown }
      if (typeof topicId === 'string' && typeof name === 'string' && name !== '' && !/^A+$/.test(topicId)) {
        const ids = this.topicIds.get(name) ?? []
        if (!ids.includes(topicId)) this.topicIds.set(name, [...ids, topicId])
      }
      for (const member of Object.values(value)) this.#learn(member)
    }
  }

  /** What random values of this side read as, so that the two sides can be compared. */
  placeholders(steps: readonly { kind: string; bind?: Readonly<Record<string, string>> }[]): Map<string, string> {
    const found = new Map<string, string>()
    for (const [name, ids] of this.topicIds) {
      for (const [index, id] of ids.entries()) found.set(id, `<id ${index} of ${name}>`)
    }
    for (const { bind = {} } of steps) {
      for (const variable of Object.values(bind)) {
        const value = this.names.variables.get(variable)
        if (value === undefined || variable.startsWith('gen')) continue
        // Numbers are ids only in fields that hold such.
        const field = variable.startsWith('pid') ? 'producerId' : 'sessionId'
        const key = typeof value === 'number' ? `${field}#${value}` : textOf(value)
        if (!found.has(key)) found.set(key, `$${variable}`)
      }
    }
    return found
  }
}

/** Asks a broker for what it makes at first use, until it is there. */
export async function warmUp(address: Address): Promise<void> {
  const side = new Side('warm up', address, Math.random(), Date.now())
  try {
    for (let tries = 0; ; tries++) {
      const { errorCode } = await side.ask(joinGroup, 2, {
        groupId: '@warm',
        protocols: [{ name: 'range', metadata: '' }],
      })
      if (errorCode === 'NONE') break
      if (tries > 150) throw new Error(`no coordinator after 30 s: ${errorCode}`)
      await side.ask(findCoordinator, 2, { key: '@warm' })
      await new Promise(resolve => setTimeout(resolve, 200))
    }
    await side.ask(initProducerId, 2, { transactionalId: null })
  } finally {
    side.close()
  }
}
