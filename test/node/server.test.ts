import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { OttlaError } from '../../src/node/errors.ts'
import { TcpServer, type TcpServerOptions } from '../../src/node/server.ts'
import { Client, recordingEnv, ScriptedBroker, until } from './support.ts'

const servers: TcpServer[] = []
const clients: Client[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.destroy()
  for (const server of servers.splice(0)) {
    await server.close()
    server.env.close()
  }
})

async function start(options: Partial<TcpServerOptions> = {}) {
  const recorded = recordingEnv()
  const broker = new ScriptedBroker()
  const server = await TcpServer.listen({
    env: recorded.env,
    acceptor: broker,
    host: '127.0.0.1',
    port: 0,
    maxConnections: () => 100,
    graceMs: 100,
    ...options,
  })
  servers.push(server)
  const open = async () => {
    const client = await Client.open(server.port)
    clients.push(client)
    return client
  }
  return { ...recorded, broker, server, open }
}

describe.each([
  ['a receive buffer of its own', true],
  ['plain data events', false],
])('a TCP server that reads with %s', (_, reuseReceiveBuffer) => {
  it('hands received bytes to the broker and writes what it sends', async () => {
    const { broker, server, open } = await start({ reuseReceiveBuffer })
    const client = await open()
    client.socket.write('hello')
    await until(() => client.text === 'hello', 'the echo')
    expect(broker.seen[0].peer).toEqual({
      host: '127.0.0.1',
      port: client.socket.localPort,
      listener: `127.0.0.1:${server.port}`,
    })
    await until(() => broker.seen[0].unsent === 0, 'everything taken')
  })

  it('moves many bytes both ways, whole and in order', async () => {
    const { broker, open } = await start({ reuseReceiveBuffer })
    const client = await open()
    const sent = Buffer.allocUnsafe(8 << 20)
    for (let index = 0; index < sent.length; index += 4) sent.writeUInt32LE(index, index)
    client.socket.write(sent)
    await until(() => client.bytes === sent.length, 'all bytes back')
    expect(Buffer.concat(client.chunks).equals(sent)).toBe(true)
    await until(() => broker.seen[0].unsent === 0, 'everything taken')
  })

  it('tells the broker once when the far side is gone, and stays up when it broke', async () => {
    const { broker, open, lines, fatal } = await start({ reuseReceiveBuffer })
    const [polite, rude] = [await open(), await open()]
    polite.socket.end()
    rude.socket.resetAndDestroy()
    await until(() => broker.seen.length === 2 && broker.seen.every(seen => seen.closed), 'both closed')
    expect(lines.filter(line => !line.startsWith('debug'))).toEqual([])
    expect(fatal).toEqual([])
    const healthy = await open()
    healthy.socket.write('still there')
    await until(() => healthy.text === 'still there', 'the echo')
  })

  it('stops reading while the broker pauses, even from within receive', async () => {
    const { broker, env, open } = await start({ reuseReceiveBuffer })
    broker.onReceive = seen => seen.sink.pause()
    const client = await open()
    client.socket.write('first')
    await until(() => broker.seen[0]?.bytes === 5, 'the first bytes')
    client.socket.write('second')
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(broker.seen[0].bytes).toBe(5)
    env.event(() => broker.seen[0].sink.resume())
    await until(() => broker.seen[0].bytes === 11, 'the second bytes')
  })

  it('sends what was sent before a close, then closes, and drops what still arrives', async () => {
    const { broker, open } = await start({ reuseReceiveBuffer })
    broker.onReceive = seen => {
      seen.send(Buffer.from('last words'))
      seen.sink.close()
    }
    const client = await open()
    client.socket.write('x')
    client.socket.write(Buffer.alloc(1 << 20))
    await until(() => client.ended, 'the end')
    expect(client.text).toBe('last words')
    await until(() => broker.seen[0].closed, 'the connection closed')
  })

  it('gives up on a far side that never closes', async () => {
    const { broker, open } = await start({ reuseReceiveBuffer })
    broker.onReceive = seen => seen.sink.close()
    const client = await open()
    client.socket.allowHalfOpen = true
    client.socket.write('x')
    await until(() => broker.seen[0]?.closed === true, 'the connection closed after the grace')
  })

  it('closes the connection whose bytes made the broker throw, and says so', async () => {
    const { broker, open, fatal } = await start({ reuseReceiveBuffer })
    broker.onReceive = () => {
      throw new Error('a mistake of ours')
    }
    const victim = await open()
    victim.socket.write('x')
    await until(() => victim.closed, 'the connection closed')
    expect(fatal.map(error => error.message)).toEqual(['a mistake of ours'])
    expect(broker.seen[0].closed).toBe(true)
  })
})

describe('a TCP server', () => {
  it('writes everything sent in one event at once, in order, whatever the size of the parts', async () => {
    const { broker, env, open } = await start()
    const client = await open()
    await until(() => broker.seen.length === 1, 'the connection')
    const big = Buffer.alloc(100_000, 'b')
    env.event(() => {
      broker.seen[0].send(Buffer.from('one '), Buffer.from('two '))
      broker.seen[0].send(big)
      broker.seen[0].send(Buffer.from(' three'))
      broker.seen[0].send()
    })
    await until(() => client.bytes === 100_014 && broker.seen[0].unsent === 0, 'everything')
    expect(client.text).toBe(`one two ${big} three`)
  })

  it('counts bytes as unsent until the far side makes room for them', async () => {
    const { broker, env, open } = await start()
    const client = await open()
    client.socket.pause()
    await until(() => broker.seen.length === 1, 'the connection')
    env.event(() => broker.seen[0].send(Buffer.alloc(64 << 20)))
    await new Promise(resolve => setTimeout(resolve, 50))
    expect(broker.seen[0].unsent).toBe(64 << 20)
    client.socket.resume()
    await until(() => broker.seen[0].unsent === 0, 'everything taken')
  })

  it('calls taken for what a broken connection never sent', async () => {
    const { broker, env, open } = await start()
    const client = await open()
    client.socket.pause()
    await until(() => broker.seen.length === 1, 'the connection')
    env.event(() => broker.seen[0].send(Buffer.alloc(64 << 20)))
    client.socket.resetAndDestroy()
    await until(() => broker.seen[0].closed && broker.seen[0].unsent === 0, 'closed and taken')
    env.event(() => broker.seen[0].send(Buffer.alloc(10)))
    await until(() => broker.seen[0].unsent === 0, 'taken after the close')
  })

  it('lets others have their turn after 256 KB of one socket', async () => {
    const { broker, open } = await start()
    let thisTurn = 0
    let mostInOneTurn = 0
    broker.onReceive = (_, bytes) => {
      if (thisTurn === 0) setImmediate(() => (thisTurn = 0))
      thisTurn += bytes.length
      mostInOneTurn = Math.max(mostInOneTurn, thisTurn)
    }
    const loud = await open()
    loud.socket.write(Buffer.alloc(64 << 20))
    await until(() => broker.seen[0]?.bytes === 64 << 20, 'all of it')
    expect(mostInOneTurn).toBeLessThan(512 * 1024)
  })

  it('closes connections beyond the limit, and takes others once there is room', async () => {
    const { broker, lines, open } = await start({ maxConnections: () => 2 })
    const [first] = [await open(), await open()]
    await until(() => broker.seen.length === 2, 'two connections')
    const third = await open()
    await until(() => third.closed, 'the third closed')
    expect(broker.seen.length).toBe(2)
    expect(lines).toContain('warn too many connections')
    first.socket.end()
    await until(() => broker.seen.some(seen => seen.closed), 'room')
    const fourth = await open()
    fourth.socket.write('hi')
    await until(() => fourth.text === 'hi', 'the echo')
  })

  it('answers on close what the broker still sends, and ends every connection', async () => {
    const { broker, env, server, open } = await start()
    const client = await open()
    await until(() => broker.seen.length === 1, 'the connection')
    server.stopAccepting()
    env.event(() => broker.seen[0].send(Buffer.from('parked reply')))
    await server.close()
    await until(() => client.closed, 'the client closed')
    expect(client.text).toBe('parked reply')
    expect(server.connections).toBe(0)
    const late = new Client(server.port)
    await until(() => late.closed, 'a late client refused')
    expect(broker.seen.length).toBe(1)
  })

  it('has a port that is given back in a moment', async () => {
    const squatter = createServer().listen(0, '127.0.0.1')
    await once(squatter, 'listening')
    const { port } = squatter.address() as { port: number }
    setTimeout(() => squatter.close(), 60)
    const { server, open } = await start({ port })
    expect(server.port).toBe(port)
    await open()
    await until(() => server.connections === 1, 'a client connected')
  })

  it('says which port is taken, and what to do', async () => {
    const squatter = createServer().listen(0, '127.0.0.1')
    await once(squatter, 'listening')
    const port = (squatter.address() as { port: number }).port
    const error = await start({ port }).catch(error => error)
    squatter.close()
    expect(error).toBeInstanceOf(OttlaError)
    expect(error.code).toBe('OTTLA_PORT_IN_USE')
    expect(error.message).toBe(`port ${port} on 127.0.0.1 is taken`)
    expect(error.hint).toContain('port 0')
  })

  it('explains other reasons why the system refuses to listen', async () => {
    const error = await start({ host: '203.0.113.1' }).catch(error => error)
    expect(error.code).toBe('OTTLA_LISTEN_FAILED')
    expect(error.message).toContain('EADDRNOTAVAIL')
    expect(error.hint).toContain('127.0.0.1')
  })
})
