/**
 * The scenarios that Ottla does not pass yet, by name, with the reason. One that passes fails its test: it must go from this
 * list, which only gets shorter.
 */

export interface PendingScenarios {
  readonly reason: string
  readonly file: string
  readonly scenarios: readonly string[]
}

export const PENDING: readonly PendingScenarios[] = [
  {
    reason: 'the list of APIs and features is not whole yet',
    file: 'api-versions.txt',
    scenarios: [
      'ApiVersions v0 lists the range of every client-facing API',
      'ApiVersions v3 carries finalized features for transactions and groups',
    ],
  },
  {
    reason: 'consumer protocol (KIP-848)',
    file: 'groups-consumer.txt',
    scenarios: [
      'one member joins and gets every partition',
      'v0: the broker makes the member id',
      'joins that are not complete are refused',
      'empty instance id, rack id and assignor name',
      'a heartbeat above epoch 0 in a group that does not exist',
      'an unknown member in a group that exists',
      'the answer to the previous epoch was lost: heartbeat with it again is accepted',
      'a second member: revoke first, then hand over',
      'a member that leaves gives its partitions to the other',
      'a member that does not revoke within its rebalance timeout is fenced',
      'a topic that does not exist yet is assigned when it appears',
      'a changed subscription bumps the epoch and changes the assignment',
      'subscription by regular expression',
      'static member: leave with -2 and come back under another member id',
      'static member: an instance id in use is not released, a wrong member id is fenced',
      'static member: leave with -2 without an instance id',
      'range assignor: contiguous, in member order',
      'describe a consumer group',
      'a consumer group seen by the classic calls',
      'offsets of a consumer group member: epochs are checked',
      'a classic member with opaque metadata cannot join a consumer group',
      'a consumer member joins a classic group: the group is upgraded',
      'an empty consumer group becomes classic when a classic member joins',
    ],
  },
  {
    reason: 'share groups (KIP-932)',
    file: 'groups-share.txt',
    scenarios: [
      'a member joins a share group and gets the partitions',
      'share heartbeat: bad requests',
      'share heartbeat: leaving',
      'two members share one partition',
      'a share group and the classic calls',
      'share heartbeat into a classic group',
      'records that are acquired are not given again, nor to the other member',
      'acknowledge accept: done for good',
      'acknowledge release: delivered again, count 2',
      'a different acknowledgement for each record of one batch',
      'several acknowledgement batches in one request',
      'acknowledging twice',
      'acknowledging what was never acquired',
      'bad acknowledgement batches: unknown type, last before first, overlapping, wrong number of types',
      'acknowledge type 0 marks a gap',
      'renew keeps the lock and the records stay acquired',
      'renew in v1',
      'the lock runs out: delivered again with count 2',
      'after the delivery count limit the record is archived',
      'max records limits what is acquired, by whole batches',
      'share session: wrong epoch, unknown session',
      'share session: acknowledge with epoch 0 is refused',
      'share session closed with -1 releases the records',
      'a closed connection releases the records',
      'a share fetch with acknowledgements in its first request',
      'share fetch with a member id that is no uuid, and without a group',
      'by default a share group starts at the end',
      'read_committed share group skips aborted records',
    ],
  },
  {
    reason: 'transactions',
    file: 'transactions.txt',
    scenarios: [
      'InitProducerId: new id epoch 0, again epoch 1',
      'InitProducerId: bad timeout and empty transactional id',
      'TV1: add partition, produce, commit, read committed',
      'TV1: abort, the aborted list and the marker',
      'TV1: unknown transactional id, wrong producer id, wrong epoch',
      'TV1: one missing topic fails the whole add',
      'TV1: commit without anything, and abort without anything',
      'TV1: commit again is fine, abort after commit is not',
      'TV1: abort again is fine, commit after abort is not',
      'a second producer with the same id fences the first',
      'InitProducerId aborts the open transaction of the one before',
      'TV2: produce adds the partition, EndTxn gives the next epoch',
      'TV2: by topic id, v13',
      'TV2: the old epoch cannot produce after EndTxn',
      'TV2: abort without anything bumps the epoch, commit without anything is refused',
      'TV2: produce with an unknown transactional id',
      'two partitions: each gets a marker',
      'the last stable offset holds read_committed back, others go on',
      'a read_committed fetch at the last stable offset waits, the commit wakes it',
      'two open transactions: the older one holds the last stable offset',
      'a plain idempotent batch while the transaction is open',
      'a transactional duplicate is answered again',
      'TV1: offsets in a transaction are hidden until the commit',
      'TV2: TxnOffsetCommit alone',
      'TV2: TxnOffsetCommit v6 by topic id',
      'TxnOffsetCommit with a fenced epoch',
      'a transaction that times out is aborted and its producer fenced',
      'list transactions: unknown state filter, long running only, bad pattern',
      'DescribeTransactions with an empty transactional id',
      'DescribeProducers inside and after a transaction',
      'AddOffsetsToTxn: empty group id, unknown transactional id',
      'WriteTxnMarkers aborts a hanging transaction',
      'WriteTxnMarkers v2: a TV2 marker must carry a higher epoch',
    ],
  },
  {
    reason: 'consumer protocol (KIP-848)',
    file: 'strict.txt',
    scenarios: ['a consumer group that is full'],
  },
  {
    reason: 'transactions',
    file: 'ours-security.txt',
    scenarios: ['describe producers: in a transaction, and after it'],
  },
  {
    reason: 'transactions',
    file: 'strict.txt',
    scenarios: ['transaction.max.timeout.ms'],
  },
]

/** Why a scenario is pending, or undefined when it has to pass. */
export function reasonPending(file: string, scenario: string): string | undefined {
  return PENDING.find(entry => entry.file === file && entry.scenarios.includes(scenario))?.reason
}
