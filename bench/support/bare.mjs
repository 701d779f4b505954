/**
 * Bare TCP servers: what Node and the kernel cost without a broker. `sink` counts bytes and answers with their number when the
 * far side ends; `echo` sends back what it gets.
 */
import { createServer, Socket } from 'node:net'

const kind = process.argv[2]
const buffer = Buffer.allocUnsafeSlow(256 * 1024)

const server = createServer({ noDelay: true, pauseOnConnect: kind === 'sink', allowHalfOpen: true }, accepted => {
  if (kind === 'echo') return accepted.on('error', () => {}).pipe(accepted)
  let received = 0
  const callback = length => {
    received += length
    return true
  }
  const handle = accepted._handle
  const socket = new Socket({ handle, onread: { buffer, callback }, allowHalfOpen: true })
  socket.on('end', () => socket.end(String(received)))
  socket.resume()
})
server.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`))
