/** Our own client's way to a real broker: sockets of Node, each event on one ending with a drain. */

import { connect } from 'node:net'
import type { Channel, ChannelEvents, Transport } from '../../src/client/transport.ts'
import type { SystemEnv } from '../../src/node/system-env.ts'

export class TcpTransport implements Transport {
  readonly #env: SystemEnv

  constructor(env: SystemEnv) {
    this.#env = env
  }

  open(host: string, port: number, events: ChannelEvents): Channel {
    const socket = connect({ host, port, noDelay: true })
    let open = true
    socket.on('data', bytes => this.#env.event(() => open && events.receive(bytes)))
    socket.on('error', () => {})
    socket.on('close', () =>
      this.#env.event(() => {
        if (!open) return
        open = false
        events.closed()
      }),
    )
    return {
      send: parts => {
        for (const part of parts) socket.write(part)
      },
      close: () => {
        open = false
        socket.destroy()
      },
    }
  }
}
