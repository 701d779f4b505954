/**
 * What can be seen of a broker, or a cluster, over HTTP: `/healthz` for whoever restarts it, `/metrics` for Prometheus, `/describe` for people
 * and programs. What the pages say is made in pages.ts. It only tells, unless it was given a token for calls (remote.ts). It listens on loopback unless asked otherwise, and checks the Host header, so that a web
 * page cannot read it through a name that is made to point here (DNS rebinding).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { listenError } from './listen-error.ts'
import { formatAddress } from './options.ts'

export type HttpControl = (request: IncomingMessage, token: string) => Promise<{ status: number; body: string }>

/** How those who are observed are, for whoever restarts them. */
export interface Health {
  /** Whether clients can be served. */
  readonly serves: boolean
  readonly text: string
}

/** What the pages are made of. */
export interface Observed {
  health(): Health
  /** In the format that Prometheus reads. */
  metrics(): Promise<string>
  /** Something for JSON. */
  describe(): Promise<unknown>
  /** Answers a call that comes with the token; its code is loaded only where there is a token. */
  readonly control?: HttpControl
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
  status?: number
  type: string
  body: string
}

const PAGES: Record<string, (observed: Observed) => Promise<Page>> = {
  '/healthz': async observed => {
    const { serves, text } = observed.health()
    return { status: serves ? 200 : 503, type: 'text/plain', body: text }
  },
  '/metrics': async observed => ({ type: 'text/plain; version=0.0.4', body: await observed.metrics() }),
  '/describe': async observed => ({
    type: 'application/json',
    body: `${JSON.stringify(await observed.describe(), null, 2)}\n`,
  }),
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
  const { control } = observed
  if (options.token !== undefined && control !== undefined && request.url?.startsWith('/control/')) {
    const { status, body } = await control(request, options.token)
    return send(response, status, body, status === 200 || status === 400 ? 'application/json' : undefined)
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, 405, 'only GET\n')
  const page = PAGES[(request.url ?? '/').split('?')[0]]
  if (page === undefined) return send(response, 404, `there is ${Object.keys(PAGES).join(', ')}\n`)
  try {
    const { status = 200, type, body } = await page(observed)
    send(response, status, body, type)
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
