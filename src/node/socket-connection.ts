/**
 * One accepted TCP socket as the broker's `ConnectionSink`. Received bytes go to the broker as views of a buffer that
 * all sockets share (they are only valid during the call); what the broker sends during one event goes out in one write.
 * It knows nothing of frames.
 */
import { Socket } from 'node:net'
import type { BrokerConnection, ConnectionSink } from '../broker/sink.ts'
import type { SystemEnv } from './system-env.ts'

/** After so many bytes a socket lets the others read: libuv would go on up to 32 times before it looks at them. */
const YIELD_BYTES = 256 * 1024
/** Parts below this are copied together: a copy costs less than one more chunk in a stream and in a `writev`. */
const SMALL_PART_BYTES = 4096

/** What a {@link SocketConnection} needs of the server that accepted it. */
export interface SocketOwner {
  readonly env: SystemEnv
  /** How long the far side has to close after we said goodbye. */
  readonly graceMs: number
  /** Told at the first part that is sent in an event: `flush` is to be called at its end. */
  onDirty(connection: SocketConnection): void
  onClosed(connection: SocketConnection): void
}

export class SocketConnection implements ConnectionSink {
  readonly #owner: SocketOwner
  readonly #socket: Socket
  #broker: BrokerConnection | undefined
  #parts: Uint8Array[] = []
  #taken: (() => void)[] = []
  #dirty = false
  #sinceYield = 0
  #yielded: NodeJS.Immediate | undefined
  #paused = false
  #ending: NodeJS.Timeout | undefined

  /** @param buffer received bytes are read into it; without one, Node allocates a buffer for each read. */
  constructor(owner: SocketOwner, accepted: Socket, buffer: Uint8Array | undefined) {
    this.#owner = owner
    const onread = buffer && {
      buffer,
      callback: (length: number) => this.#receive(buffer.subarray(0, length)),
    }
    this.#socket = (onread && adopt(accepted, onread)) ?? accepted
    if (this.#socket === accepted) accepted.on('data', bytes => void this.#receive(plain(bytes)))
    this.#socket.on('error', error => this.#owner.env.log('debug', 'connection broke', { reason: error.message }))
    this.#socket.on('close', () => this.#closed())
  }

  /** Begins to receive, for `broker`. */
  start(broker: BrokerConnection): void {
    this.#broker = broker
    if (!this.#paused) this.#socket.resume()
  }

  send(parts: Uint8Array[], taken: () => void): void {
    for (const part of parts) this.#parts.push(part)
    this.#taken.push(taken)
    this.#needFlush()
  }

  close(): void {
    if (this.#ending !== undefined) return
    this.#ending = setTimeout(() => this.#socket.destroy(), this.#owner.graceMs)
    this.#needFlush()
  }

  pause(): void {
    this.#paused = true
    this.#socket.pause()
  }

  resume(): void {
    this.#paused = false
    if (this.#yielded === undefined && this.#broker !== undefined) this.#socket.resume()
  }

  /** Breaks the connection without another word. */
  destroy(): void {
    this.#socket.destroy()
  }

  /** Writes everything sent during the event that ends, at once. */
  flush(): void {
    this.#dirty = false
    if (this.#taken.length > 0) this.#write(joinSmall(this.#parts), this.#taken)
    this.#parts = []
    this.#taken = []
    // What still arrives is read and dropped until the far side closes: closing with unread bytes would reset the
    // connection, and take away what it has not read yet.
    if (this.#ending !== undefined && !this.#socket.writableEnded) {
      this.#socket.end()
      this.#socket.resume()
    }
  }

  #needFlush(): void {
    if (this.#dirty) return
    this.#dirty = true
    this.#owner.onDirty(this)
  }

  /** Node calls back even for what could not be written, so that every `taken` is called exactly once. */
  #write(chunks: Uint8Array[], taken: (() => void)[]): void {
    const done = () => {
      this.#owner.env.event(() => {
        for (const each of taken) each()
      })
    }
    const last = chunks.length - 1
    if (last < 0 || !this.#socket.writable) {
      setImmediate(done)
      return
    }
    if (last > 0) this.#socket.cork()
    for (let index = 0; index < last; index++) this.#socket.write(chunks[index])
    this.#socket.write(chunks[last], done)
    if (last > 0) this.#socket.uncork()
  }

  /** Answers whether to go on reading. */
  #receive(bytes: Uint8Array): boolean {
    if (this.#ending !== undefined) return true
    if (!this.#owner.env.event(() => this.#broker?.receive(bytes))) {
      this.#socket.destroy()
      return false
    }
    if (this.#paused) return false
    this.#sinceYield += bytes.length
    if (this.#sinceYield < YIELD_BYTES) return true
    this.#yield()
    return false
  }

  #yield(): void {
    this.#sinceYield = 0
    this.#socket.pause()
    this.#yielded = setImmediate(() => {
      this.#yielded = undefined
      if (!this.#paused) this.#socket.resume()
    })
  }

  #closed(): void {
    clearTimeout(this.#ending)
    clearImmediate(this.#yielded)
    this.#owner.onClosed(this)
    this.#owner.env.event(() => this.#broker?.closed())
  }
}

/** What of a Node handle is used here. Neither it nor `_handle` is documented, hence every doubt ends in the fallback. */
interface Handle {
  useUserBuffer?: unknown
}

/**
 * Node has no way to give a receive buffer to a socket that was accepted, only to one that is made, so this makes one
 * around the same handle. Undefined when this Node does not let us.
 */
function adopt(accepted: Socket, onread: { buffer: Uint8Array; callback: (length: number) => boolean }) {
  const shell = accepted as unknown as { _handle: Handle | null }
  const handle = shell._handle
  if (typeof handle?.useUserBuffer !== 'function') return undefined
  const socket = new Socket({ handle, onread, manualStart: true } as unknown as ConstructorParameters<typeof Socket>[0])
  // The shell lets go of the handle; destroying it takes it off the server's count and closes nothing.
  shell._handle = null
  accepted.destroy()
  return socket
}

/** The same bytes with runs of small parts copied together. */
function joinSmall(parts: Uint8Array[]): Uint8Array[] {
  if (parts.length === 1) return parts
  const joined: Uint8Array[] = []
  let from = 0
  while (from < parts.length) {
    let to = from
    let bytes = 0
    while (to < parts.length && parts[to].length < SMALL_PART_BYTES) bytes += parts[to++].length
    if (to - from > 1) joined.push(concat(parts, from, to, bytes))
    else if (to - from === 1) joined.push(parts[from])
    if (to < parts.length) joined.push(parts[to])
    from = to + 1
  }
  return joined
}

function concat(parts: Uint8Array[], from: number, to: number, bytes: number): Uint8Array {
  const all = Buffer.allocUnsafe(bytes)
  let position = 0
  for (let index = from; index < to; index++) {
    all.set(parts[index], position)
    position += parts[index].length
  }
  return all
}

/** The pure part knows no `Buffer`, whose `slice` is a view where that of a `Uint8Array` is a copy. */
function plain(bytes: Buffer): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
}
