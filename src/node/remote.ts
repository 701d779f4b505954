/**
 * Driving a broker from another process, over its HTTP side: calls as JSON behind a token. Both ends are here, so that they agree:
 * the page that answers, and the handle that asks. A stranger gets no further than the token; the Host header is checked before.
 */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BrokerHandle, type StartedBroker } from './broker-handle.ts'
import { type BrokerMethods, callMethod, methodsBy } from './broker-methods.ts'
import { OTTLA_ERRORS, OttlaError, type OttlaErrorCode } from './errors.ts'
import type { BrokerFacts, RunningBroker } from './running-broker.ts'

/** Where calls are posted, with the name of the method behind it. */
const CONTROL_PATH = '/control/'
const FACTS = 'facts'
const MOST_BYTES = 64 * 1024 * 1024

/** What a call is answered with. */
export interface ControlReply {
  readonly status: number
  readonly body: string
}

/** Answers a call, given the broker that it is for. */
export async function answerControl(
  request: IncomingMessage,
  token: string,
  { facts, methods }: { facts: BrokerFacts; methods: BrokerMethods },
): Promise<ControlReply> {
  if (!isToken(request.headers.authorization, token)) return { status: 401, body: 'the token is missing or wrong\n' }
  if (request.method !== 'POST') return { status: 405, body: 'only POST\n' }
  // Pages of a browser cannot send this without being asked first whether they may.
  if (!request.headers['content-type']?.startsWith('application/json')) return { status: 415, body: 'only JSON\n' }
  const method = (request.url ?? '').slice(CONTROL_PATH.length)
  try {
    const args = decode(await bodyOf(request)) as unknown[]
    const value = method === FACTS ? facts : await callMethod(methods, method, args)
    return { status: 200, body: encode({ value }) }
  } catch (error) {
    const { code, message, hint } = error as { code?: string; message: string; hint?: string }
    return { status: 400, body: encode({ error: { code, message, hint } }) }
  }
}

/** Compared in a time that tells nothing of where they differ. */
function isToken(header: string | undefined, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return header !== undefined && timingSafeEqual(digest(header), digest(`Bearer ${token}`))
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) throw new RangeError(`a call has at most ${MOST_BYTES} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** JSON has no bytes and no undefined in lists; the one is told in base64, of the other there is none here. */
function encode(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    member instanceof Uint8Array ? { $base64: Buffer.from(member).toString('base64') } : member,
  )
}

function decode(text: string): unknown {
  return JSON.parse(text, (_, member) =>
    typeof member?.$base64 === 'string' ? new Uint8Array(Buffer.from(member.$base64, 'base64')) : member,
  )
}

/**
 * A handle on a broker that another process has started with `http: { control: token }`. It does all that the handle there does,
 * except that `close` only lets go of it.
 *
 * @param url the broker's `http`, such as `http://127.0.0.1:38080`
 * @throws OttlaError `OTTLA_NOT_REACHED` when nobody answers there, or the token is another
 */
export async function attachBroker(url: string, token: string): Promise<RunningBroker> {
  return new BrokerHandle(await reachBroker(url, token))
}

/** The same without a handle, for those who make their own. */
export async function reachBroker(url: string, token: string): Promise<StartedBroker> {
  const call = (method: string, args: unknown[]) => post(`${url}${CONTROL_PATH}${method}`, token, withoutTail(args))
  const facts = (await call(FACTS, [])) as BrokerFacts
  return { facts, methods: methodsBy(call), close: async () => {} }
}

/** Arguments that are left out at the end, which JSON would make null. */
function withoutTail(args: unknown[]): unknown[] {
  return args.slice(0, args.findLastIndex(arg => arg !== undefined) + 1)
}

async function post(url: string, token: string, args: unknown[]): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body: encode(args) }).catch(cause => {
    throw new OttlaError('OTTLA_NOT_REACHED', `no broker answers at ${url}`, { cause })
  })
  const text = await response.text()
  if (response.status !== 200 && response.status !== 400) {
    throw new OttlaError('OTTLA_NOT_REACHED', `the broker at ${url} says ${response.status}: ${text.trim()}`)
  }
  const { value, error } = decode(text) as {
    value?: unknown
    error?: { code?: string; message: string; hint?: string }
  }
  if (error === undefined) return value
  const { code, message, hint } = error
  if (code !== undefined && code in OTTLA_ERRORS) throw new OttlaError(code as OttlaErrorCode, message, { hint })
  throw new Error(message)
}
