import { fetch } from '../../../src/protocol/apis/fetch.ts'
import type { Json, JsonObject } from '../../twin/json.ts'
import type { Session, World } from '../world.ts'
import { epoch } from './log.ts'

/** Fetch: with and without a session, at, below and beyond ends, and fetches that wait. */

/** Long enough never to end within a sequence. */
const LONG_MS = 60_000

export function fetchSome(world: World): void {
  const dice = world.random.next()
  if (dice < 0.45) plainFetch(world)
  else if (dice < 0.6 || world.sessions.length === 0) openSession(world)
  else if (dice < 0.92) continueSession(world, world.pick(...world.sessions))
  else waitForRecords(world)
}

function plainFetch(world: World): void {
  const version = world.version(fetch)
  const body: JsonObject = { ...limits(world), sessionEpoch: -1, ...partitions(world, 1 + world.int(2)).body }
  if (world.chance(0.03)) Object.assign(body, { sessionId: 99, sessionEpoch: world.pick(-1, 0, 1) })
  if (world.chance(0.08)) byOldId(world, body)
  else world.send(fetch, version, body)
}

function limits(world: World): JsonObject {
  return {
    maxWaitMs: 0,
    minBytes: world.mostly(1, 0, 1000),
    ...(world.chance(0.15) && { maxBytes: world.pick(0, 1, 100, 400) }),
    isolationLevel: world.mostly(0, 1),
  }
}

function partitions(world: World, count: number): { body: JsonObject; names: string[] } {
  const body: JsonObject = {}
  for (let left = count; left > 0; left--) {
    const topic = world.topic()
    const partition = world.partition(topic)
    body[`${topic.name}/${partition}`] = {
      fetchOffset: world.offset(topic, partition),
      currentLeaderEpoch: epoch(world),
      ...(world.chance(0.15) && { lastFetchedEpoch: world.pick(0, 0, 1, -1) }),
      ...(world.chance(0.15) && { partitionMaxBytes: world.pick(0, 1, 100, 400) }),
      ...(world.chance(0.05) && { logStartOffset: 0 }),
    }
  }
  return { body, names: Object.keys(body) }
}

/** By an id that a topic had, or has. */
function byOldId(world: World, body: JsonObject): void {
  const ids = world.topics.flatMap(topic => topic.ids)
  if (ids.length === 0) return
  const kept = Object.fromEntries(Object.entries(body).filter(([name]) => !name.includes('/')))
  const topics = [{ topicId: `$${world.pick(...ids)}`, partitions: [{ partition: 0, partitionMaxBytes: 1_048_576 }] }]
  world.send(fetch, world.version(fetch, 13), { ...kept, topics: topics as Json })
}

function openSession(world: World): void {
  const id = `session${world.next()}`
  const version = world.version(fetch, 7)
  const { body, names } = partitions(world, world.int(4))
  world.send(fetch, version, { ...limits(world), sessionEpoch: 0, ...body }, { bind: { sessionId: id } })
  world.sessions.push({ id: `$${id}`, epoch: 1, version, partitions: names })
}

function continueSession(world: World, session: Session): void {
  const body: JsonObject = { ...limits(world), sessionId: session.id, sessionEpoch: session.epoch }
  const dice = world.random.next()
  if (dice < 0.05) body.sessionEpoch = world.pick(session.epoch + 1, Math.max(1, session.epoch - 1), 0, -1)
  else session.epoch++
  if (world.chance(0.4)) Object.assign(body, partitions(world, 1 + world.int(2)).body)
  if (world.chance(0.15) && session.partitions.length > 0) forget(world, session, body)
  world.send(fetch, world.mostly(session.version, world.version(fetch, 7)), body)
}

function forget(world: World, session: Session, body: JsonObject): void {
  const [topic, partition] = world.pick(...session.partitions).split('/')
  const found = world.topics.find(({ name }) => name === topic)
  if (found === undefined || found.ids.length === 0) return
  const id: JsonObject = session.version >= 13 ? { topicId: `$${found.ids.at(-1)}` } : { topic }
  body.forgottenTopicsData = [{ ...id, partitions: [Number(partition)] }]
}

/** Waits at the end of a partition until somebody produces; on a connection of its own. */
function waitForRecords(world: World): void {
  const topic = world.topic()
  const partition = world.partition(topic)
  const body: JsonObject = { maxWaitMs: LONG_MS, minBytes: world.pick(1, 1, 1, 200), sessionEpoch: -1 }
  body[`${topic.name}/${partition}`] = { fetchOffset: topic.ends[partition] ?? 0 }
  world.send(fetch, world.version(fetch), body, { on: world.pick('F', 'G') })
}
