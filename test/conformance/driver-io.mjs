// What the driver programs of the JavaScript clients share: one operation per process.
//
// The operation comes as JSON in the only argument; what happens is printed as one JSON object per line: `assigned`,
// `record`, `acknowledged`, and at the end `result` or `error`. A member runs until standard input ends, and then leaves; a
// producer sends the lines of its standard input, or, as `keepProducing`, values of its own until it ends. Not TypeScript, because it runs as it is under the Node of the client.
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

/** Records go out in batches of this many, so that the client has some to put together. */
const BATCH_SIZE = 5

/**
 * Numbered values for every partition, until the run asks to leave: of each partition one batch after the other, of several partitions side
 * by side. `send` resolves with the offset of the first value, if the client tells; when it rejects, nobody knows what became of the batch.
 */
export async function keepProducing({ partitions, recordsPerSecond }, send) {
  let leaving = false
  askedToLeave().then(() => {
    leaving = true
  })
  const pauseMs = (1000 * BATCH_SIZE * partitions) / recordsPerSecond
  const produce = async partition => {
    for (let next = 0; !leaving; next += BATCH_SIZE) {
      const values = Array.from({ length: BATCH_SIZE }, (_, index) => `${partition}:${next + index}`)
      try {
        const offset = await send(partition, values)
        for (const [index, value] of values.entries()) {
          emit('acknowledged', { partition, offset: offset === undefined ? undefined : offset + index, value })
        }
      } catch (error) {
        for (const value of values)
          emit('unacknowledged', { partition, value, message: `${error?.name}: ${error?.message}` })
      }
      await new Promise(resolve => setTimeout(resolve, pauseMs))
    }
  }
  await Promise.all(Array.from({ length: partitions }, (_, partition) => produce(partition)))
}

/** What a producer that stays has to send: the lines of standard input, until it ends. */
export function linesToSend() {
  return createInterface({ input: process.stdin })
}
