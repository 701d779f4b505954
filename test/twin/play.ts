import { APIS } from '../../src/protocol/apis/index.ts'
import type { Api } from '../../src/protocol/dsl.ts'
import { parseHex } from './bytes.ts'
import { answered, type Call, type Conversation, decodeAnswer, encodeBody, framed, frameOf } from './calls.ts'
import { type Expectations, writeExpectation } from './expectation.ts'
import { isContainer, type Json, type JsonObject } from './json.ts'
import { difference } from './match.ts'
import { Failed, Names, type Target } from './names.ts'
import { printLine } from './print.ts'
import { encodable } from './request.ts'
import type { Fault, Scenario, Step } from './script.ts'
import { awaitBroker, awaitState, configureGroup, createTopic } from './setup.ts'
import { showAnswer } from './shape.ts'
import type { World } from './world.ts'

/** One run of one scenario: its steps, one after the other, over the connections it opens. */

const DEADLINE_MS = 90_000
const ANSWER_MS = 15_000
const AWAIT_MS = 10_000
const NOTHING_MS = 300
const CLOSED_MS = 8_000
const API_BY_NAME = new Map(APIS.map(api => [api.name, api]))
/** Why a coordinator is asked again: Kafka loads its partitions in the background. */
const LOADING = /COORDINATOR_LOAD_IN_PROGRESS|COORDINATOR_NOT_AVAILABLE|NOT_COORDINATOR/

/**
 * Plays a scenario.
 *
 * @param recorded when given, answers are not compared: what to write for each step's `expect` is put there
 * @returns undefined when it went as written, else the line, the step and the first difference
 */
export async function play(
  scenario: Scenario,
  target: Target,
  world: World,
  recorded?: Expectations,
): Promise<string | undefined> {
  const run = new Play(target, world, recorded)
  const deadline = world.now() + DEADLINE_MS
  try {
    for (const step of scenario.steps) {
      try {
        if (world.now() > deadline) throw new Failed('the scenario takes longer than 90 s')
        await run.step(step)
      } catch (error) {
        const said = error instanceof Failed ? error.message : String((error as Error).stack)
        return `line ${step.line} (${brief(step.source)}): ${said}`
      }
    }
    return undefined
  } finally {
    run.close()
  }
}

function brief(source: string): string {
  return source.length > 70 ? `${source.slice(0, 67)}...` : source
}

/** The first error code in an answer that is not NONE. */
export function errorIn(value: Json): string | undefined {
  if (!isContainer(value)) return undefined
  for (const [name, member] of Object.entries(value)) {
    if (name.toLowerCase().endsWith('errorcode') && member !== 'NONE') return String(member)
    const inner = errorIn(member)
    if (inner !== undefined) return inner
  }
  return undefined
}

export class Play {
  readonly names: Names
  readonly world: World
  readonly #recorded: Expectations | undefined
  readonly #conversations = new Map<string, Conversation>()
  readonly #clientIds = new Map<string, string | null>()
  readonly #pending = new Map<string, Call | undefined>()

  constructor(target: Target, world: World, recorded?: Expectations) {
    this.world = world
    this.#recorded = recorded
    this.names = new Names(
      target,
      () => world.now(),
      () => world.random(),
    )
  }

  close(): void {
    for (const { line } of this.#conversations.values()) line.close()
  }

  async step(step: Step): Promise<void> {
    switch (step.kind) {
      case 'wait':
        return this.world.sleep(step.ms ?? 0)
      case 'disconnect':
        return this.#forget(this.#conversations.get(this.#resolved(step.name)))
      case 'connect': {
        const clientId = step.options.get('clientId') ?? 'null'
        this.#clientIds.set(this.#resolved(step.name), clientId === 'null' ? null : this.names.text(clientId))
        await this.#conversation(step.name)
        return
      }
      case 'topic':
        return createTopic(this, step)
      case 'group':
        return configureGroup(this, step)
      case 'state':
        return awaitState(this, step)
      case 'kill':
      case 'stop':
      case 'restart':
      case 'pause':
      case 'resume':
        return this.#befall(step.kind, Number(this.names.resolve(step.name)))
      case 'pending':
        return this.#stillPending(step)
      case 'await':
        return this.#settle(step, this.#pendingCall(step.name), step.ms ?? AWAIT_MS)
      case 'bytes':
      case 'frame':
        return this.#sendBytes(step)
      case 'send':
        return this.#send(step)
    }
  }

  /** Asks over a connection of its own, and gives back the answer as scenarios read it. Any broker does unless one is named. */
  async ask(api: string, version: number, body: JsonObject, broker?: number): Promise<JsonObject> {
    const name = broker === undefined ? '(setup)' : `(setup)@${broker}`
    const call = await this.#transmit({ name, api, version, body, hex: undefined, cut: 0, extra: 0 })
    if (call === undefined || !(await answered(call, ANSWER_MS, this.world)) || call.closed) {
      throw new Failed(`${api} is not answered`)
    }
    return this.#show(call)
  }

  async #befall(fault: Fault, broker: number): Promise<void> {
    const { brokers } = this.world
    if (brokers === undefined) throw new Failed('there is only one broker here')
    if (fault !== 'restart' && fault !== 'resume') {
      for (const [name, { line }] of this.#conversations) {
        // Whoever waits for an answer over such a connection learns that it ended; the next step opens another.
        if (!name.endsWith(`@${broker}`) && name !== '(setup)') continue
        if (fault !== 'pause' || name.startsWith('(setup)')) this.#conversations.delete(name)
        if (name.startsWith('(setup)')) line.close()
      }
    }
    await brokers.befall(fault, broker)
    if (fault === 'restart') await awaitBroker(this, broker)
  }

  /** `A@$leader` as `A@2`. */
  #resolved(name: string): string {
    const at = name.indexOf('@')
    return at < 0 ? name : `${name.slice(0, at)}@${String(this.names.resolve(name.slice(at + 1)))}`
  }

  async #conversation(given: string): Promise<Conversation> {
    const name = this.#resolved(given)
    const [, broker] = name.split('@')
    let conversation = this.#conversations.get(name)
    if (conversation === undefined) {
      const clientId = this.#clientIds.get(name)
      conversation = {
        line: await this.world.connect(broker === undefined ? undefined : Number(broker)),
        clientId: clientId === undefined ? 'scenario' : clientId,
        inFlight: [],
        correlationId: 1,
      }
      this.#conversations.set(name, conversation)
    }
    return conversation
  }

  /** Closes a connection; the next step that names it opens another. */
  #forget(conversation: Conversation | undefined): void {
    for (const [name, each] of this.#conversations) if (each === conversation) this.#conversations.delete(name)
    conversation?.line.close()
  }

  #pendingCall(name: string): Call {
    const call = this.#pending.get(name)
    if (call === undefined) throw new Failed(`no pending request ${name}`)
    return call
  }

  async #stillPending(step: Step): Promise<void> {
    const call = this.#pendingCall(step.name)
    if (!(await answered(call, step.ms ?? 0, this.world))) return
    throw new Failed(
      call.closed ? 'the connection was closed' : `answered already: ${printLine(this.#show(call), this.names)}`,
    )
  }

  /** Sends the request; undefined when none is to be answered (acks 0). */
  async #transmit(
    step: Pick<Step, 'name' | 'api' | 'version' | 'body' | 'hex' | 'cut' | 'extra'>,
  ): Promise<Call | undefined> {
    const conversation = await this.#conversation(step.name)
    const api = API_BY_NAME.get(step.api)
    if (api === undefined && !/^\d+$/.test(step.api)) throw new Failed(`no API ${step.api}`)
    const correlationId = conversation.correlationId++
    const { body, silent } = this.#body(step, api)
    const apiKey = api?.key ?? Number(step.api)
    const { clientId, line } = conversation
    const { version } = step
    const call: Call = { conversation, api, version, correlationId, answer: undefined, closed: line.closed }
    if (call.closed) return call
    line.send(frameOf({ api, apiKey, version, correlationId, clientId }, body))
    if (silent) return undefined
    conversation.inFlight.push(call)
    return call
  }

  #body(
    step: Pick<Step, 'api' | 'version' | 'body' | 'hex' | 'cut' | 'extra'>,
    api: Api | undefined,
  ): { body: Uint8Array; silent: boolean } {
    let body: Uint8Array
    let silent = false
    if (step.hex !== undefined) body = parseHex(step.hex)
    else {
      if (api === undefined) throw new Failed('an API by number takes its body as bytes')
      const value = encodable(api.name, api.request.spec.fields, step.body as JsonObject, this.names)
      body = encodeBody(api, Math.min(step.version, api.versions[1]), value)
      silent = api.name === 'Produce' && value.acks === 0
    }
    if (step.cut > 0) body = body.slice(0, -step.cut)
    if (step.extra > 0) body = Uint8Array.from([...body, ...new Uint8Array(step.extra)])
    return { body, silent }
  }

  async #sendBytes(step: Step): Promise<void> {
    const conversation = await this.#conversation(step.name)
    const bytes = parseHex((step.hex ?? '').replace('hex:', ''))
    conversation.line.send(step.kind === 'frame' ? framed(bytes) : bytes)
    return this.#silent(step, conversation)
  }

  async #send(step: Step): Promise<void> {
    if (step.as !== undefined) {
      this.#pending.set(step.as, await this.#transmit(step))
      return
    }
    const { expect, until } = step
    const wait = step.ms ?? ANSWER_MS
    const end = this.world.now() + (until === undefined ? ANSWER_MS : wait)
    for (;;) {
      const call = await this.#transmit(step)
      if (call === undefined) return this.#silent(step, await this.#conversation(step.name))
      const quiet = expect?.nothing && this.#recorded === undefined
      const ms = quiet ? (expect.ms ?? NOTHING_MS) : Math.max(wait, 1000)
      if (!(await answered(call, ms, this.world))) return this.#nothingCame(step)
      if (call.closed || call.api === undefined) return this.#settle(step, call, 0)
      if (until !== undefined) {
        const shown = this.#show(call)
        const variables = new Map(this.names.variables)
        if (difference(until, shown, this.names, { variables, partial: true }) === undefined) {
          return this.#settle(step, call, 0)
        }
        if (this.world.now() > end) {
          throw new Failed(`not within ${wait} ms; last answer ${printLine(shown, this.names)}`)
        }
        await this.world.sleep(step.everyMs)
        continue
      }
      const loading = LOADING.test(JSON.stringify(this.#show(call)))
      const expected = LOADING.test(JSON.stringify(expect?.json ?? null))
      if (!loading || expected || this.world.now() > end) return this.#settle(step, call, 0)
      await this.world.sleep(100)
    }
  }

  #show(call: Call): JsonObject {
    const { version, body } = decodeAnswer(call)
    return showAnswer((call.api as Api).response.spec.fields, body, version, this.names)
  }

  /** After acks 0 or raw bytes nothing comes, or the broker closes. */
  async #silent(step: Step, conversation: Conversation): Promise<void> {
    const { expect } = step
    const recorded = this.#recorded
    if (recorded === undefined && !expect?.closed && !expect?.nothing) return
    const frame = await conversation.line.read(
      expect?.ms ?? (expect?.closed ? CLOSED_MS : recorded === undefined ? NOTHING_MS : 1000),
    )
    if (frame === 'closed') this.#forget(conversation)
    const got = frame === undefined ? 'nothing' : frame === 'closed' ? 'closed' : `an answer of ${frame.length} bytes`
    if (recorded !== undefined) {
      recorded.set(step, `expect ${got}${expect?.ms === undefined ? '' : ` within ${expect.ms}ms`}`)
      return
    }
    const wanted = expect?.closed ? 'closed' : 'nothing'
    if (got !== wanted) throw new Failed(`expected ${wanted}, got ${got}`)
  }

  #nothingCame(step: Step): void {
    if (this.#recorded !== undefined) this.#recorded.set(step, 'expect nothing')
    else if (!step.expect?.nothing) throw new Failed('no answer in time')
  }

  async #settle(step: Step, call: Call, ms: number): Promise<void> {
    if (!(await answered(call, ms, this.world))) return this.#nothingCame(step)
    const { expect } = step
    if (call.closed) {
      this.#forget(call.conversation)
      if (this.#recorded !== undefined) this.#recorded.set(step, 'expect closed')
      else if (!expect?.closed) throw new Failed('the broker closed the connection')
      return
    }
    const shown = this.#show(call)
    const bad = step.ok ? errorIn(shown) : undefined
    if (bad !== undefined) throw new Failed(`expected no error, got ${bad} in ${printLine(shown, this.names)}`)
    if (this.#recorded !== undefined) return writeExpectation(this.#recorded, step, shown, this.names)
    if (expect === undefined) return
    if (expect.json === undefined) {
      const wanted = expect.closed ? 'the connection to be closed' : 'no answer'
      throw new Failed(`expected ${wanted}, got ${printLine(shown, this.names)}`)
    }
    const found = difference(expect.json, shown, this.names, { partial: expect.partial })
    if (found !== undefined) throw new Failed(`${found}\n  in ${printLine(shown, this.names)}`)
  }
}
