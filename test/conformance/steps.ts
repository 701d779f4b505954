/**
 * The steps that every client goes through: what a program does with Kafka on an ordinary day.
 *
 * Each step has a topic and a group of its own, puts the client into its situation through `reference.ts`, and looks
 * at what is stored with `wire.ts`, so that a client is never believed about itself. What the broker's request log
 * has to say comes on top, after the step (see `request-log.ts`).
 */
import { expect } from 'vitest'
import { waitUntil } from './child.ts'
import type { Codec, Member, OutgoingRecord, ResetPolicy } from './client.ts'
import { ERROR_STEPS } from './error-steps.ts'
import type { Reference } from './reference.ts'
import { expectedRecords, failIfEnded, keyed, keyOf, numbered, type Step, type StepContext } from './step.ts'
import { storedBatches, storedRecords } from './wire.ts'

async function produce({ client, bootstrapServers, reference, topic, call }: StepContext): Promise<void> {
  await reference.createTopic(topic, 3)
  const headers: [string, string][] = [['trace', 'abc']]
  const records = numbered(12).map((value, index): OutgoingRecord => ({ key: `key-${index % 4}`, value, headers }))
  records.push({ key: 'key-0', value: null, headers })
  await client.produce(call('produce', 'p'), topic, records, {})

  const partitions = await Promise.all([0, 1, 2].map(partition => storedRecords(bootstrapServers, topic, partition)))
  for (const key of ['key-0', 'key-1', 'key-2', 'key-3']) {
    const holding = partitions.filter(stored => stored.some(record => record.key === key))
    expect(holding.length, `partitions that hold ${key}`).toBe(1)
    const values = holding[0].filter(record => record.key === key).map(record => record.value)
    expect(values).toEqual(records.filter(record => record.key === key).map(record => record.value))
  }
  for (const stored of partitions.flat()) expect(stored.headers).toEqual(headers)
}

async function produceIdempotently({ client, bootstrapServers, reference, topic, call }: StepContext): Promise<void> {
  await reference.createTopic(topic, 1)
  const values = numbered(20)
  await client.produce(call('produce', 'p'), topic, keyed(values), { idempotent: true })
  for (const batch of await storedBatches(bootstrapServers, topic, 0)) {
    expect(batch.producerId, 'the producer id of a stored batch').toBeGreaterThanOrEqual(0)
  }
  expect((await storedRecords(bootstrapServers, topic, 0)).map(record => record.value)).toEqual(values)
}

async function autoCreate({ client, bootstrapServers, reference, topic, call }: StepContext): Promise<void> {
  expect(await reference.topicExists(topic)).toBe(false)
  await client.produce(call('produce', 'p'), topic, keyed(['first']), {})
  expect(await reference.partitionCount(topic)).toBe(1)
  expect((await storedRecords(bootstrapServers, topic, 0)).map(record => record.value)).toEqual(['first'])
}

async function consumeByPartition({ client, reference, topic, call }: StepContext): Promise<void> {
  await reference.createTopic(topic, 3)
  for (const partition of [0, 1, 2]) await reference.send(topic, partition, numbered(10, `p${partition}-`))
  const all = await client.readPartition(call('read', 'all'), topic, 1, 0, 10)
  expect(all).toEqual(expectedRecords(1, numbered(10, 'p1-'), 0))
  const rest = await client.readPartition(call('read', 'rest'), topic, 2, 4, 6)
  expect(rest).toEqual(expectedRecords(2, numbered(10, 'p2-').slice(4), 4))
}

const GROUP_PARTITIONS = [0, 1, 2, 3, 4, 5]

async function consumeInGroup({ client, reference, topic, group, call, joins }: StepContext): Promise<void> {
  await reference.createTopic(topic, GROUP_PARTITIONS.length)
  const start = (name: string) => client.join(call('member', name), { group, topic, reset: 'earliest' })
  const first = start('first')
  await sharedBy([first])
  const second = start('second')
  await sharedBy([first, second])
  await eachGetsItsRecords(reference, topic, [first, second], 'two')
  const third = start('third')
  await sharedBy([first, second, third])
  await eachGetsItsRecords(reference, topic, [first, second, third], 'three')
  // The first member leads the group: its crash is the hardest.
  first.crash()
  await sharedBy([second, third])
  await eachGetsItsRecords(reference, topic, [second, third], 'after the crash')

  // Generation 1: first. 2: first and second. 3: all three. 4: second and third. One more would be a needless rebalance.
  expect(first.assignments.length, 'assignments of the first member').toBe(3)
  expect(second.assignments.length, 'assignments of the second member').toBe(3)
  expect(third.assignments.length, 'assignments of the third member').toBe(2)
  for (const member of [first, second, third]) {
    const counted = await joins(member.clientId)
    if (counted !== undefined) expect(counted, `joins of ${member.clientId}`).toBe(member.assignments.length)
  }
  await Promise.all([second.close(), third.close()])
}

/** Waits until the members own all partitions, each its equal part and none twice. */
async function sharedBy(members: Member[]): Promise<void> {
  const owned = () => members.map(member => member.assignments.at(-1) ?? [])
  const fair = GROUP_PARTITIONS.length / members.length
  await waitUntil(
    () => {
      for (const member of members) failIfEnded(member)
      return owned().every(part => part.length === fair) && new Set(owned().flat()).size === GROUP_PARTITIONS.length
    },
    () => `${members.length} members share the partitions; they own ${JSON.stringify(owned())}`,
  )
}

/** Sends a record to every partition and waits until the member that owns it has it. */
async function eachGetsItsRecords(
  reference: Reference,
  topic: string,
  members: Member[],
  value: string,
): Promise<void> {
  await Promise.all(GROUP_PARTITIONS.map(partition => reference.send(topic, partition, [value])))
  const missing = () =>
    members.flatMap(member => {
      const got = member.records.filter(record => record.value === value).map(record => record.partition)
      return (member.assignments.at(-1) ?? []).filter(partition => !got.includes(partition))
    })
  await waitUntil(
    () => {
      for (const member of members) failIfEnded(member)
      return missing().length === 0
    },
    () => `the records "${value}" arrive; missing are partitions ${missing()}`,
  )
}

async function commitAndResume({ client, reference, topic, group, call }: StepContext): Promise<void> {
  await reference.createTopic(topic, 1)
  const values = numbered(10)
  await reference.send(topic, 0, values)
  const before = await client.consumeAndCommit(call('member', 'before'), group, topic, 4)
  expect(before).toEqual(expectedRecords(0, values.slice(0, 4), 0))
  expect(await reference.committedOffset(group, topic, 0)).toBe(4)
  const after = await client.consumeAndCommit(call('member', 'after'), group, topic, 6)
  expect(after).toEqual(expectedRecords(0, values.slice(4), 4))
  expect(await reference.committedOffset(group, topic, 0)).toBe(10)
}

async function readCommittedOffsets({ client, reference, topic, group, call }: StepContext): Promise<void> {
  await reference.createTopic(topic, 1)
  await reference.send(topic, 0, numbered(5))
  await client.consumeAndCommit(call('member', 'm'), group, topic, 3)
  expect(await client.committedOffset(call('admin', 'a'), group, topic, 0)).toBe(3)
}

async function resetEarliest(context: StepContext): Promise<void> {
  const member = await joinAfterFive(context, 'earliest')
  await waitUntil(
    () => failIfEnded(member) ?? member.records.length >= 5,
    () => `five records; there are ${member.records.length}`,
  )
  expect(member.records).toEqual(expectedRecords(0, numbered(5, 'old-'), 0))
  await member.close()
}

async function resetLatest(context: StepContext): Promise<void> {
  const { reference, topic } = context
  const member = await joinAfterFive(context, 'latest')
  await waitUntil(
    () => failIfEnded(member) ?? member.assignments.length > 0,
    () => 'an assignment',
  )
  // Between its assignment and its question for the end of the log a client is nowhere: send until one arrives.
  let sent = 0
  for (; member.records.length === 0 && sent < 50; sent++) {
    await reference.send(topic, 0, [`new-${sent}`])
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  await waitUntil(
    () => failIfEnded(member) ?? member.records.at(-1)?.value === `new-${sent - 1}`,
    () => `the record new-${sent - 1}; there are ${JSON.stringify(member.records)}`,
  )
  const skipped = sent - member.records.length
  const expected = Array.from({ length: member.records.length }, (_, index) => `new-${skipped + index}`)
  expect(member.records.map(record => record.value)).toEqual(expected)
  await member.close()
}

async function resetNone(context: StepContext): Promise<void> {
  const member = await joinAfterFive(context, 'none')
  const failure = await waitUntil(
    () => member.failure(),
    () => 'the client reports that it has no offset',
  )
  expect(failure).toMatch(/no\b.*\boffset|NoOffsetForPartition/i)
  expect(member.records).toEqual([])
}

async function joinAfterFive(context: StepContext, reset: ResetPolicy): Promise<Member> {
  const { client, reference, topic, group, call } = context
  await reference.createTopic(topic, 1)
  await reference.send(topic, 0, numbered(5, 'old-'))
  return client.join(call('member', 'm'), { group, topic, reset })
}

async function createTopic({ client, reference, topic, call }: StepContext): Promise<void> {
  await client.createTopic(call('admin', 'a'), topic, 3, { 'retention.ms': '123456789' })
  expect(await reference.partitionCount(topic)).toBe(3)
  expect(await reference.topicConfig(topic, 'retention.ms')).toBe('123456789')
}

async function describeTopic({ client, reference, topic, call }: StepContext): Promise<void> {
  await reference.createTopic(topic, 3)
  const { partitions, leaders } = await client.describeTopic(call('admin', 'a'), topic)
  expect(partitions).toBe(3)
  expect(leaders.length).toBe(3)
  for (const leader of leaders) expect(leader).toBeGreaterThanOrEqual(0)
}

async function deleteTopic({ client, reference, topic, call }: StepContext): Promise<void> {
  await reference.createTopic(topic, 2)
  await client.deleteTopic(call('admin', 'a'), topic)
  await waitUntil(
    async () => !(await reference.topicExists(topic)),
    () => `${topic} is gone`,
  )
}

function codecStep(codec: Codec): Step {
  return {
    name: `codec ${codec}`,
    codec,
    async run({ client, bootstrapServers, reference, topic, call }) {
      await reference.createTopic(topic, 1)
      const values = numbered(50).map(value => `${value} ${'compressible '.repeat(20)}`)
      await client.produce(call('produce', 'p'), topic, keyed(values), { codec })
      const batches = await storedBatches(bootstrapServers, topic, 0)
      expect([...new Set(batches.map(batch => batch.codec))], 'codecs of the stored batches').toEqual([codec])
      const read = await client.readPartition(call('read', 'r'), topic, 0, 0, values.length)
      expect(read).toEqual(values.map((value, offset) => ({ partition: 0, offset, key: keyOf(value), value })))
    },
  }
}

// A client that asks for a topic before it exists is told so, creates it by asking, and asks again.
const ON_AUTO_CREATION = ['Metadata UNKNOWN_TOPIC_OR_PARTITION', 'Metadata LEADER_NOT_AVAILABLE']

export const STEPS = [
  { name: 'create a topic', run: createTopic },
  { name: 'describe a topic', run: describeTopic },
  { name: 'delete a topic', run: deleteTopic },
  { name: 'produce', run: produce },
  { name: 'produce idempotently', run: produceIdempotently },
  { name: 'create a topic by producing to it', run: autoCreate, allowedErrors: ON_AUTO_CREATION },
  { name: 'consume by partition', run: consumeByPartition },
  { name: 'consume in a group: two, a third joins, one crashes', run: consumeInGroup, rebalances: true },
  { name: 'commit and resume', run: commitAndResume },
  {
    name: 'read committed offsets',
    run: readCommittedOffsets,
    // Kafka's tools ask for a group of the consumer protocol first, and then for a classic one (KIP-1043).
    allowedErrors: ['ConsumerGroupDescribe GROUP_ID_NOT_FOUND'],
  },
  { name: 'auto.offset.reset earliest', run: resetEarliest },
  { name: 'auto.offset.reset latest', run: resetLatest },
  { name: 'auto.offset.reset none', run: resetNone },
  codecStep('gzip'),
  codecStep('snappy'),
  codecStep('lz4'),
  codecStep('zstd'),
  ...ERROR_STEPS,
] as const satisfies Step[]

export type StepName = Exclude<(typeof STEPS)[number], Step & { codec: Codec }>['name'] | `codec ${Codec}`
