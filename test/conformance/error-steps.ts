/**
 * The steps in which something goes wrong: a client has to be told, has to tell its user, and has to go on where it can.
 *
 * How a client words an error is its own affair, so the patterns here are wide; that it was this error and no other, the
 * request log says.
 */
import { expect } from 'vitest'
import { waitUntil } from './child.ts'
import type { Member, OpenProducer } from './client.ts'
import { expectedRecords, failIfEnded, keyed, numbered, type Step, type StepContext } from './step.ts'
import { storedRecords } from './wire.ts'

async function unknownTopic({ client, reference, topic, call, errors }: StepContext): Promise<void> {
  const { bootstrapServers, clientId } = call('produce', 'p')
  const sent = client.produce({ bootstrapServers, clientId }, topic, keyed(['lost']), { giveUpAfterMs: 2000 })
  await expect(sent).rejects.toThrow(/unknown.?topic|does not (host|exist)|not present in metadata|update metadata/i)
  const seen = await errors(clientId)
  if (seen) expect(seen).toContain('Metadata UNKNOWN_TOPIC_OR_PARTITION')
  expect(await reference.topicExists(topic)).toBe(false)
}

async function deleteUnknownTopic({ client, topic, call }: StepContext): Promise<void> {
  const deleted = client.deleteTopic(call('admin', 'a'), topic)
  await expect(deleted).rejects.toThrow(/unknown.?topic|does not (host|exist)/i)
}

async function tooLarge({ client, bootstrapServers, reference, topic, call, errors }: StepContext): Promise<void> {
  await reference.createTopic(topic, 1, { 'max.message.bytes': '2000' })
  const { clientId } = call('produce', 'p')
  const sent = client.produce({ bootstrapServers, clientId }, topic, keyed([`big ${'x'.repeat(5000)}`]), {})
  await expect(sent).rejects.toThrow(/too.?large|larger than/i)
  const seen = await errors(clientId)
  if (seen) expect(seen).toContain('Produce MESSAGE_TOO_LARGE')
  expect(await storedRecords(bootstrapServers, topic, 0)).toEqual([])
}

async function commitAsStranger({ client, reference, topic, group, call, errors }: StepContext): Promise<void> {
  await reference.createTopic(topic, 1)
  await reference.send(topic, 0, numbered(5))
  const member = client.join(call('member', 'm'), { group, topic, reset: 'earliest' })
  await waitForRecords(member, 5)
  const stranger = call('admin', 'stranger')
  await expect(client.commitOffset(stranger, group, topic, 0, 2)).rejects.toThrow(
    /member|active|running instances|rebalanc/i,
  )
  const seen = await errors(stranger.clientId)
  // Some clients ask for the state of the group first, and then do not even try.
  if (seen?.some(error => error.startsWith('OffsetCommit'))) expect(seen).toContain('OffsetCommit UNKNOWN_MEMBER_ID')
  expect(member.failure()).toBeUndefined()
  await member.close()
  await client.commitOffset(call('admin', 'afterwards'), group, topic, 0, 2)
  expect(await reference.committedOffset(group, topic, 0)).toBe(2)
}

async function topicDeletedWhileConsumed(context: StepContext): Promise<void> {
  const { client, reference, topic, group, call, errors } = context
  await reference.createTopic(topic, 1)
  await reference.send(topic, 0, numbered(3, 'old-'))
  const member = client.join(call('member', 'm'), { group, topic, reset: 'earliest' })
  await waitForRecords(member, 3)
  await reference.deleteTopic(topic)
  // Fetch is first to tell; what follows depends on the client's next question, so this waits until that is answered, too.
  const noticed = async () => {
    const seen = await errors(member.clientId)
    return seen === undefined || seen.includes('Metadata UNKNOWN_TOPIC_OR_PARTITION') || member.failure() !== undefined
  }
  await waitUntil(noticed, () => 'the client is told that the topic is gone')
  if (client.endsWithTopic) {
    await endsForLackOfTopic(member)
    return
  }
  // Some go through another generation, without the topic; that the topic comes back in the middle of it is another story.
  await new Promise(resolve => setTimeout(resolve, 2000))
  await reference.createTopic(topic, 1)
  await goesOn(member, 3, value => reference.send(topic, 0, [value]))
  await member.close()
}

async function restartBroker(context: StepContext): Promise<void> {
  const { client, bootstrapServers, reference, topic, group, call, restart } = context
  await reference.createTopic(topic, 1)
  const member = client.join(call('member', 'm'), { group, topic, reset: 'earliest' })
  const producer = client.openProducer(call('produce', 'p'), topic)
  const before = numbered(3, 'before-')
  for (const value of before) producer.send(value)
  await waitForRecords(member, 3, producer)
  const generations = member.assignments.length
  await restart([topic])
  let reader = member
  if (client.endsWithTopic) {
    producer.send('new-0')
    await endsForLackOfTopic(member)
    reader = client.join(call('member', 'successor'), { group, topic, reset: 'earliest' })
    await waitForRecords(reader, 1, producer)
    expect(reader.records).toEqual(expectedRecords(0, ['new-0'], 0))
  } else {
    await goesOn(member, 3, value => producer.send(value), producer)
    await waitUntil(
      () => failIfEnded(member) ?? member.assignments.length > generations,
      () => 'the member joins its group anew',
    )
  }
  await Promise.all([reader.close(), producer.close()])
  const stored = (await storedRecords(bootstrapServers, topic, 0)).map(record => record.value)
  expect(stored).toEqual(numbered(stored.length, 'new-'))
  expect(stored.length).toBeGreaterThan(0)
}

/**
 * Sends new records to a log that begins anew until the member has one, which then has to have all that follow.
 *
 * Its position is beyond the end of the new log. Whether it begins at the start, or where the leader epoch tells it that
 * the logs part (KIP-320), depends on what it learns first, so that the first records may pass it by.
 */
async function goesOn(
  member: Member,
  before: number,
  send: (value: string) => void | Promise<void>,
  producer?: OpenProducer,
): Promise<void> {
  let sent = 0
  for (; member.records.length === before && sent < 50; sent++) {
    failIfEnded(member)
    await send(`new-${sent}`)
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  await waitForRecords(member, before + 1, producer)
  const last = `new-${sent - 1}`
  await waitUntil(
    () => failIfEnded(member) ?? member.records.at(-1)?.value === last,
    () => `the record ${last}; there are ${JSON.stringify(member.records)}`,
  )
  // Until it could commit in its new generation it may read a record again, but it never leaves one out.
  const read = new Map(member.records.slice(before).map(record => [record.offset, record]))
  const first = Math.min(...read.keys())
  const inOrder = [...read.values()].sort((a, b) => a.offset - b.offset)
  expect(inOrder).toEqual(expectedRecords(0, numbered(sent, 'new-').slice(first), first))
}

async function endsForLackOfTopic(member: Member): Promise<void> {
  const failure = await waitUntil(
    () => member.failure(),
    () => 'the client ends',
  )
  expect(failure).toMatch(/unknown.?topic|does not (host|exist)/i)
}

async function waitForRecords(member: Member, count: number, producer?: OpenProducer): Promise<void> {
  await waitUntil(
    () => {
      failIfEnded(member)
      const failure = producer?.failure()
      if (failure !== undefined) throw new Error(`the producer ended by itself: ${failure}`)
      return member.records.length >= count
    },
    () => `${count} records; there are ${JSON.stringify(member.records)}`,
    // Some clients wait a while before they try again.
    25_000,
  )
}

// What is said to who asks for a topic that was deleted, by its name and by its id, and to a fetch session that asks for
// the old id when the name stands for a new topic.
const GONE = [
  ...['Metadata', 'Fetch', 'ListOffsets', 'OffsetFetch', 'OffsetCommit'].flatMap(api =>
    ['UNKNOWN_TOPIC_OR_PARTITION', 'UNKNOWN_TOPIC_ID'].map(error => `${api} ${error}`),
  ),
  'Fetch INCONSISTENT_TOPIC_ID',
]
// An empty broker knows neither the member nor its fetch session, and has fewer records than the member has seen.
const FORGOTTEN = [
  ...['Heartbeat', 'OffsetCommit', 'JoinGroup', 'SyncGroup', 'LeaveGroup'].map(api => `${api} UNKNOWN_MEMBER_ID`),
  ...['Heartbeat', 'OffsetCommit', 'OffsetFetch', 'JoinGroup'].map(api => `${api} NOT_COORDINATOR`),
  'OffsetCommit ILLEGAL_GENERATION',
  'OffsetCommit GROUP_ID_NOT_FOUND',
  // Whoever tells which cluster it was in has to ask for the brokers anew (KIP-1242).
  'ApiVersions REBOOTSTRAP_REQUIRED',
  'FindCoordinator COORDINATOR_NOT_AVAILABLE',
  // A fetch session begins by name, and goes on by id, or the other way round (KIP-516).
  'Fetch FETCH_SESSION_TOPIC_ID_ERROR',
  'Fetch FETCH_SESSION_ID_NOT_FOUND',
  'Fetch OFFSET_OUT_OF_RANGE',
]

// Java fetches by name for the moment in which it does not know the id of a topic.
const BY_NAME = ['Fetch v12']

export const ERROR_STEPS = [
  {
    name: 'error: produce to a topic that is not there',
    broker: 'strict',
    allowedErrors: ['Metadata UNKNOWN_TOPIC_OR_PARTITION'],
    run: unknownTopic,
  },
  {
    name: 'error: delete a topic that is not there',
    allowedErrors: ['DeleteTopics UNKNOWN_TOPIC_OR_PARTITION', 'Metadata UNKNOWN_TOPIC_OR_PARTITION'],
    run: deleteUnknownTopic,
  },
  { name: 'error: produce beyond max.message.bytes', allowedErrors: ['Produce MESSAGE_TOO_LARGE'], run: tooLarge },
  {
    name: 'error: commit as a stranger',
    allowedErrors: ['OffsetCommit UNKNOWN_MEMBER_ID'],
    run: commitAsStranger,
  },
  {
    name: 'error: the topic goes while it is consumed',
    broker: 'strict',
    allowedErrors: [
      ...GONE,
      'Fetch NOT_LEADER_OR_FOLLOWER',
      'Fetch OFFSET_OUT_OF_RANGE',
      'Fetch INVALID_FETCH_SESSION_EPOCH',
    ],
    otherRequests: BY_NAME,
    rebalances: true,
    // Some begin with a new connection whenever they begin anew.
    reconnects: true,
    run: topicDeletedWhileConsumed,
  },
  {
    name: 'error: the broker restarts, empty, while it is used',
    broker: 'own',
    allowedErrors: [...GONE, ...FORGOTTEN, 'Produce UNKNOWN_TOPIC_ID', 'Produce UNKNOWN_TOPIC_OR_PARTITION'],
    otherRequests: BY_NAME,
    rebalances: true,
    reconnects: true,
    run: restartBroker,
  },
] as const satisfies Step[]
