/**
 * A customer's server: keeps what is posted to it, and answers with what the test says.
 */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export class Receiver {
  /** Every post, as often as it came. */
  readonly posts: { key: string; event: string }[] = []
  /** Statuses for the next posts; then 204. */
  readonly statuses: number[] = []
  readonly #server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    this.posts.push({ key: String(request.headers['idempotency-key']), event: String(Buffer.concat(chunks)) })
    response.writeHead(this.statuses.shift() ?? 204).end()
    this.#server.emit('post')
  })

  async listen(): Promise<void> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`
  }

  /** What a receiver makes of its posts that knows them by their keys. */
  get events(): string[] {
    return [...new Map(this.posts.map(({ key, event }) => [key, event])).values()]
  }

  /** Resolves when there were `count` posts. */
  async posted(count: number): Promise<void> {
    while (this.posts.length < count) await once(this.#server, 'post', { signal: AbortSignal.timeout(10_000) })
  }

  async close(): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}
