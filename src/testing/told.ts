/**
 * What a failing wait says besides its own message. Runners that tell their hooks which test failed have the last requests printed
 * by use-in-tests.ts; jest does not, so there the error brings them along.
 */
import type { TopicMethods } from '../node/broker-methods.ts'

/** Passes a promise on; an error may get a longer message on the way. */
export type Told = <T>(waiting: Promise<T>) => Promise<T>

const LAST_REQUESTS = 20

export function toldBy(methods: () => TopicMethods): Told {
  return async waiting => {
    try {
      return await waiting
    } catch (error) {
      if (process.env.JEST_WORKER_ID !== undefined && error instanceof Error) {
        error.message += `\n\n${await lastRequests(methods())}`
      }
      throw error
    }
  }
}

/** The last requests as text, with a heading. */
export async function lastRequests(methods: { trace: TopicMethods['trace'] }, last = LAST_REQUESTS): Promise<string> {
  const trace = await methods.trace({ last }).catch(() => '')
  return trace === '' ? 'No request has reached the broker.' : `The last requests that reached the broker:\n${trace}`
}
