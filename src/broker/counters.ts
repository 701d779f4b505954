/**
 * What a broker has done since it started, in numbers that only grow: the rates of dashboards are made of them. Counting is a
 * map lookup and an addition, and nothing is kept per request.
 */

export interface TopicCounters {
  messagesIn: number
  bytesIn: number
  bytesOut: number
}

/** The numbers in plain data. */
export type BrokerCounts = Pick<Counters, 'requests' | 'topics' | 'refusedConnections'>

export class Counters {
  /** Requests that were answered, by API. */
  readonly requests = new Map<string, number>()
  readonly topics = new Map<string, TopicCounters>()
  /** Connections that were closed because of what was sent on them. */
  refusedConnections = 0

  request(api: string): void {
    this.requests.set(api, (this.requests.get(api) ?? 0) + 1)
  }

  appended(topic: string, bytes: number, messages: number): void {
    const counters = this.#topic(topic)
    counters.bytesIn += bytes
    counters.messagesIn += messages
  }

  fetched(topic: string, bytes: number): void {
    this.#topic(topic).bytesOut += bytes
  }

  /** A topic is gone, and its numbers with it. */
  forget(topic: string): void {
    this.topics.delete(topic)
  }

  #topic(topic: string): TopicCounters {
    let counters = this.topics.get(topic)
    if (counters === undefined) {
      counters = { messagesIn: 0, bytesIn: 0, bytesOut: 0 }
      this.topics.set(topic, counters)
    }
    return counters
  }
}
