/**
 * A connection of a benchmark: writes request frames, and gives each answer, without its length, to one function.
 */
import { once } from 'node:events'
import { connect } from 'node:net'

export class Link {
  static async open(port, host, onAnswer) {
    const link = new Link(connect({ port, host, noDelay: true }), onAnswer)
    await once(link.socket, 'connect')
    return link
  }

  constructor(socket, onAnswer) {
    this.socket = socket
    this.onAnswer = onAnswer
    this.chunks = []
    this.held = 0
    this.wanted = 4
    socket.on('data', chunk => this.#receive(chunk))
    socket.on('error', error => this.#broken(error))
    socket.on('close', () => this.#broken(new Error('the broker closed the connection')))
  }

  #broken(error) {
    if (this.closing) return
    throw error
  }

  write(bytes) {
    return this.socket.write(bytes)
  }

  /** Writes a request and resolves with its answer; only while nothing else is under way. */
  ask(request) {
    return new Promise(resolve => {
      this.onAnswer = resolve
      this.write(request)
    })
  }

  close() {
    this.closing = true
    this.socket.destroy()
  }

  /** Large answers come in many chunks: they are put together once, when all are there. */
  #receive(chunk) {
    this.chunks.push(chunk)
    this.held += chunk.length
    while (this.held >= this.wanted) {
      const bytes = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks)
      const length = bytes.readInt32BE(0)
      this.wanted = 4 + length
      this.chunks = [bytes]
      if (bytes.length < this.wanted) return
      const rest = bytes.subarray(this.wanted)
      this.chunks = rest.length === 0 ? [] : [rest]
      this.held = rest.length
      const answer = bytes.subarray(4, this.wanted)
      this.wanted = 4
      this.onAnswer(answer)
    }
  }
}
