/**
 * What can be seen of a broker over HTTP: `/healthz` for whoever restarts it, `/metrics` for Prometheus, `/describe` for people
 * and programs. It only tells, unless it was given a token for calls (remote.ts). It listens on loopback unless asked otherwise, and checks the Host header, so that a web
 * page cannot read it through a name that is made to point here (DNS rebinding).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Counters } from '../broker/counters.ts'
import type { BrokerDescription } from '../broker/describe.ts'
import { listenError } from './listen-error.ts'
import { renderMetrics } from './metrics.ts'
import { formatAddress } from './options.ts'

export type HttpControl = (request: IncomingMessage, token: string) => Promise<{ status: number; body: string }>

/** What the pages are made of. */
export interface Observed {
  describe(): BrokerDescription
  counters(): Counters
  /** Answers a call that comes with the token; its code is loaded only where there is a token. */
  readonly control: HttpControl
}

export interface HttpOptions {
  readonly host: string
  readonly port: number
  /** Names besides the address itself under which it may be asked. */
  readonly allowedHosts: readonly string[]
  /** With this token the broker can be driven; undefined when it can only be looked at. */
  readonly token: string | undefined
}

interface Page {
  type: string
  body: string
}

const PAGES: Record<string, (observed: Observed) => Page | Promise<Page>> = {
  '/healthz': () => ({ type: 'text/plain', body: 'ok\n' }),
  '/metrics': async ({ describe, counters }) => ({
    type: 'text/plain; version=0.0.4',
    body: await renderMetrics(describe(), counters()),
  }),
  '/describe': ({ describe }) => ({ type: 'application/json', body: `${JSON.stringify(describe(), null, 2)}\n` }),
}

/** Resolves when it listens. */
export async function startHttp(options: HttpOptions, observed: Observed): Promise<HttpEndpoint> {
  const server = createServer((request, response) => {
    void answer(request, response, options, observed)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', error => reject(listenError(error, options.host, options.port)))
    server.listen(options.port, options.host, resolve)
  })
  return new HttpEndpoint(server, options.host)
}

export class HttpEndpoint {
  readonly address: string
  readonly #server: Server

  constructor(server: Server, host: string) {
    this.#server = server
    this.address = `http://${formatAddress(host, (server.address() as AddressInfo).port)}`
  }

  close(): Promise<void> {
    return new Promise(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  options: HttpOptions,
  observed: Observed,
): Promise<void> {
  if (!isAllowedHost(request.headers.host, options)) return send(response, 403, 'this Host is not allowed\n')
  if (options.token !== undefined && request.url?.startsWith('/control/')) {
    const { status, body } = await observed.control(request, options.token)
    return send(response, status, body, status === 200 || status === 400 ? 'application/json' : undefined)
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'only GET\n')
  const page = PAGES[(request.url ?? '/').split('?')[0]]
  if (page === undefined) return send(response, 404, `there is ${Object.keys(PAGES).join(', ')}\n`)
  try {
    const { type, body } = await page(observed)
    send(response, 200, body, type)
  } catch (error) {
    send(response, 500, `${error instanceof Error ? error.message : error}\n`)
  }
}

const LOOPBACK = ['localhost', '127.0.0.1', '::1']

function isAllowedHost(header: string | undefined, { host, allowedHosts }: HttpOptions): boolean {
  const name = header
    ?.replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '')
    .toLowerCase()
  return name !== undefined && [...LOOPBACK, host, ...allowedHosts].includes(name)
}

function send(response: ServerResponse, status: number, body: string, type = 'text/plain'): void {
  response.writeHead(status, { 'content-type': `${type}${type.includes('charset') ? '' : '; charset=utf-8'}` })
  response.end(body)
}
