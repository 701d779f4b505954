// The errors of the model, one per rule that says no. Bad arguments are a plain RangeError or TypeError instead (check.ts).
// Names are those of Kafka's exceptions, except NotAssignedError, which stands for three of them.

/**
 * A consumer commits a partition that is not its own now.
 *
 * Real Kafka does not look at who owns a partition: a live member of the present generation may commit any. What stops a consumer
 * that lost a partition in a rebalance is the generation: its commit carries an old one and gets ILLEGAL_GENERATION,
 * UNKNOWN_MEMBER_ID or REBALANCE_IN_PROGRESS. The model folds both into this error.
 */
export class NotAssignedError extends Error {
  override readonly name = 'NotAssignedError'
  /** `partition` as it was given: a key of an object. */
  constructor(group: string, consumerId: string, partition: string) {
    super(`partition ${partition} is not assigned to ${consumerId} of group ${group}`)
  }
}

/** There is no record at this offset any more (retention took it), or there cannot be one yet. */
export class OffsetOutOfRangeError extends RangeError {
  override readonly name = 'OffsetOutOfRangeError'
  readonly offset: number
  /** The lowest offset that can be read. */
  readonly startOffset: number
  /** The offset the next record will get; reading there gives nothing, which is no error. */
  readonly endOffset: number

  constructor(offset: number, startOffset: number, endOffset: number) {
    super(`offset ${offset} is not within ${startOffset} to ${endOffset}`)
    this.offset = offset
    this.startOffset = startOffset
    this.endOffset = endOffset
  }
}

/** A batch does not continue where the producer's last one ended: a batch before it was lost. */
export class OutOfOrderSequenceError extends Error {
  override readonly name = 'OutOfOrderSequenceError'
}

/** The batch comes from an older incarnation of the producer, which is fenced. */
export class InvalidProducerEpochError extends Error {
  override readonly name = 'InvalidProducerEpochError'
}

/** Fewer replicas are in sync than `acks: 'all'` demands; nothing was appended. */
export class NotEnoughReplicasError extends Error {
  override readonly name = 'NotEnoughReplicasError'
}

/** An in-sync replica did not get the record in time. The record is in the leader's log, and may still become readable. */
export class RequestTimedOutError extends Error {
  override readonly name = 'RequestTimedOutError'
}

/** The partition has no leader. */
export class NotLeaderError extends Error {
  override readonly name = 'NotLeaderError'
}
