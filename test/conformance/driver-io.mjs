// What the driver programs of the JavaScript clients share: one operation per process.
//
// The operation comes as JSON in the only argument; what happens is printed as one JSON object per line: `assigned`,
// `record`, and at the end `result` or `error`. A member runs until standard input ends, and then leaves; a producer sends
// the lines of its standard input. Not TypeScript, because it runs as it is under the Node of the client.
import { createInterface } from 'node:readline'

/** Prints one event. */
export function emit(event, fields = {}) {
  process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`)
}

/** Runs the operation that the argument names, and ends the process. */
export async function main(operations) {
  const { operation, ...options } = JSON.parse(process.argv[2])
  try {
    emit('result', { value: await operations[operation](options) })
    process.exitCode = 0
  } catch (error) {
    emit('error', {
      message: `${error?.name}: ${error?.message} ${error?.cause?.message ?? ''} ${error?.errors ?? ''}`,
    })
    process.exitCode = 1
  }
  // A client may hold timers for a while after it was closed; the operation is over.
  process.stdout.end(() => process.exit())
}

/** Resolves when the run asks this member to leave. */
export function askedToLeave() {
  return new Promise(resolve => process.stdin.resume().once('end', resolve))
}

/** What a producer that stays has to send: the lines of standard input, until it ends. */
export function linesToSend() {
  return createInterface({ input: process.stdin })
}
