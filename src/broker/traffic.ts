/** Bytes under way over all connections of a broker, held against the limits that are for all of them. */
export interface Traffic {
  /** The buffers for what is received and not yet worked on. */
  received: number
  /** Answered and not yet taken by the far side. */
  unsent: number
}
