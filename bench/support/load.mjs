/** Load on a broker: requests that were encoded beforehand, as fast as they are answered. */
import { Link } from './link.mjs'
import { fetch, produceError, readFetch } from './wire.mjs'

const IN_FLIGHT = 5

/** A topic is there a moment before its partitions have leaders everywhere. */
export async function ready(admin, topic, partitions) {
  for (let partition = 0; partition < partitions; ) {
    const { error } = readFetch(await admin.ask(fetch(topic, partition, 0, 1024, 0)))
    if (error === 0) partition++
    else await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** Sends a Produce `count` times, with `inFlight` of them unanswered. */
export function blast({ host, port }, request, count, inFlight = IN_FLIGHT) {
  return new Promise((resolve, reject) => {
    let sent = 0
    let answered = 0
    const opening = Link.open(port, host, answer => {
      const error = produceError(answer)
      if (error !== 0) reject(new Error(`Produce was answered with error ${error}`))
      if (++answered === count) {
        opening.then(link => link.close())
        resolve()
      } else if (sent < count) send()
    })
    const send = () => {
      sent++
      opening.link.write(request)
    }
    opening.then(link => {
      opening.link = link
      while (sent < Math.min(inFlight, count)) send()
    }, reject)
  })
}

/** Reads a partition from its beginning until `count` records came, a megabyte at a time. */
export async function drink({ host, port }, topic, partition, count) {
  const link = await Link.open(port, host)
  let offset = 0
  let read = 0
  while (read < count) {
    const { error, nextOffset, count: more } = readFetch(await link.ask(fetch(topic, partition, offset, 1 << 20, 500)))
    if (error !== 0) throw new Error(`Fetch was answered with error ${error}`)
    read += more
    offset = nextOffset ?? offset
  }
  link.close()
}
