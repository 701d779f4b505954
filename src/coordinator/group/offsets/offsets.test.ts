import { describe, expect, it } from 'vitest'
import { encodeSubscription } from '../../../protocol/embedded/consumer-protocol.ts'
import { decodeGroupRecord } from '../../../protocol/embedded/group-records.ts'
import { errorName } from '../../../protocol/errors.ts'
import { groupIn, stateOf } from '../group-states.contract.ts'
import { bytes, World } from '../group-world.contract.ts'

/** Commits, fetches, expiry and deletion of offsets. */

const DAY = 86_400_000

interface Commit {
  group?: string
  topic?: string
  partition?: number
  offset?: number
  metadata?: string | null
  leaderEpoch?: number
  memberId?: string
  generation?: number
  retentionTimeMs?: number
}

function commit(world: World, what: Commit = {}, version = 8): string {
  const { value } = world.commit(
    {
      groupId: what.group ?? 'g',
      memberId: what.memberId ?? '',
      generationIdOrMemberEpoch: what.generation ?? -1,
      retentionTimeMs: what.retentionTimeMs,
      topics: [
        {
          name: what.topic ?? 't',
          topicId: world.topics.topicByName(what.topic ?? 't')?.topicId,
          partitions: [
            {
              partitionIndex: what.partition ?? 0,
              committedOffset: what.offset ?? 1,
              committedLeaderEpoch: version >= 6 ? what.leaderEpoch : undefined,
              committedMetadata: what.metadata ?? null,
            },
          ],
        },
      ],
    },
    version,
  )
  return errorName(value.topics[0].partitions[0].errorCode)
}

/** Everything committed, as `topic/partition=offset`. */
function all(world: World, groupId = 'g', version = 8): string[] {
  const { topics } = world.fetch({ groups: [{ groupId, topics: null }] }, version).value.groups[0]
  const nameOf = ({ name, topicId }: { name: string; topicId: string }) => name || world.topics.topicById(topicId)?.name
  return topics.flatMap(topic =>
    topic.partitions.map(
      ({ partitionIndex, committedOffset }) => `${nameOf(topic)}/${partitionIndex}=${committedOffset}`,
    ),
  )
}

function withTopic(partitions = 1): World {
  const world = new World()
  world.topics.create('t', partitions)
  return world
}

/** A stable group of one member that is subscribed to `topics`. */
function subscribed(topics: string[], protocolType = 'consumer') {
  const world = new World()
  for (const topic of topics) world.topics.create(topic)
  const metadata = encodeSubscription({ topics })
  const { memberId } = world.join({ protocolType, protocols: [{ name: 'range', metadata }] }, 2).value
  world.sync({ memberId, generationId: 1, assignments: [] })
  return { world, memberId }
}

describe('a commit', () => {
  it('comes back with its leader epoch and metadata', () => {
    const world = withTopic()
    expect(commit(world, { offset: 7, leaderEpoch: 3, metadata: 'note' })).toBe('NONE')
    const { groups } = world.fetch({
      groups: [{ groupId: 'g', topics: [{ name: 't', partitionIndexes: [0, 1] }] }],
    }).value
    expect(groups[0].topics[0].partitions).toEqual([
      { partitionIndex: 0, committedOffset: 7, committedLeaderEpoch: 3, metadata: 'note', errorCode: 0 },
      { partitionIndex: 1, committedOffset: -1, committedLeaderEpoch: -1, metadata: '', errorCode: 0 },
    ])
  })

  it('without metadata comes back with an empty text, which Sarama needs', () => {
    const world = withTopic()
    commit(world, { metadata: null })
    const { topics } = world.fetch({ groupId: 'g', topics: [{ name: 't', partitionIndexes: [0] }] }, 5).value
    expect(topics[0].partitions[0].metadata).toBe('')
  })

  it('is a record of the group, with the id of the topic', () => {
    const world = withTopic()
    commit(world, { offset: 7, leaderEpoch: 3, metadata: 'note' })
    const [{ key, value }] = world.log.records
    expect(decodeGroupRecord(key, value)).toEqual({
      type: 'offsetCommit',
      key: { group: 'g', topic: 't', partition: 0 },
      value: {
        offset: 7,
        leaderEpoch: 3,
        metadata: 'note',
        commitTimestamp: world.env.now(),
        expireTimestamp: -1,
        topicId: world.topics.topicByName('t')?.topicId,
      },
    })
  })

  it('for several partitions is one batch; what is wrong with one does not harm the others', () => {
    const world = withTopic(2)
    const partition = (partitionIndex: number, committedMetadata = '') => ({
      partitionIndex,
      committedOffset: 1,
      committedMetadata,
    })
    const { topics } = world.commit({
      generationIdOrMemberEpoch: -1,
      topics: [
        { name: 't', partitions: [partition(0), partition(1, 'x'.repeat(4_097)), partition(2), partition(-1)] },
        { name: 'missing', partitions: [partition(0)] },
      ],
    }).value
    const errors = topics.map(({ partitions }) => partitions.map(({ errorCode }) => errorName(errorCode)))
    expect(errors).toEqual([
      ['NONE', 'OFFSET_METADATA_TOO_LARGE', 'UNKNOWN_TOPIC_OR_PARTITION', 'UNKNOWN_TOPIC_OR_PARTITION'],
      ['UNKNOWN_TOPIC_OR_PARTITION'],
    ])
    expect(world.log.ends).toEqual([1])
    expect(all(world)).toEqual(['t/0=1'])
  })

  it('may have metadata of as many characters as are allowed', () => {
    const world = new World({ offsetMetadataMaxBytes: 5 })
    world.topics.create('t')
    expect(commit(world, { metadata: '12345' })).toBe('NONE')
    expect(commit(world, { metadata: '123456' })).toBe('OFFSET_METADATA_TOO_LARGE')
  })

  it('by nobody is refused as long as the group has members', () => {
    const { world } = subscribed(['t'])
    expect(commit(world)).toBe('UNKNOWN_MEMBER_ID')
  })

  it('by an unknown topic id is UNKNOWN_TOPIC_ID', () => {
    const world = withTopic()
    expect(commit(world, { topic: 'missing' }, 10)).toBe('UNKNOWN_TOPIC_ID')
    expect(commit(world, { partition: 9 }, 10)).toBe('UNKNOWN_TOPIC_OR_PARTITION')
    expect(commit(world, {}, 10)).toBe('NONE')
    expect(all(world, 'g', 10)).toEqual(['t/0=1'])
  })

  it('of nothing but unknown topics does not ask the group', () => {
    const { world, generation } = groupIn('Stable')
    expect(commit(world, { topic: 'missing', memberId: 'stranger', generation })).toBe('UNKNOWN_TOPIC_OR_PARTITION')
  })

  it('into a group that does not exist makes one that has only offsets', () => {
    const world = withTopic()
    commit(world)
    expect(world.describe().value.groups[0]).toMatchObject({ groupState: 'Empty', protocolType: '', members: [] })
    expect(world.list().value.groups).toEqual([
      { groupId: 'g', protocolType: '', groupState: 'Empty', groupType: 'classic' },
    ])
  })

  it('with the generation of a group that does not exist is refused by version', () => {
    const world = withTopic()
    const late = { memberId: 'm', generation: 3 }
    expect(commit(world, late, 8)).toBe('ILLEGAL_GENERATION')
    expect(commit(world, late, 9)).toBe('GROUP_ID_NOT_FOUND')
  })

  it('goes into the empty group id too', () => {
    const world = withTopic()
    expect(commit(world, { group: '' })).toBe('NONE')
    expect(all(world, '')).toEqual(['t/0=1'])
    expect(world.deleteGroups(['']).value.results[0].errorCode).toBe(0)
    expect(all(world, '')).toEqual([])
  })

  it('that cannot be stored is not seen', () => {
    const world = withTopic()
    commit(world, { offset: 1 })
    world.log.failing = 'NOT_ENOUGH_REPLICAS'
    expect(commit(world, { offset: 2 })).toBe('COORDINATOR_NOT_AVAILABLE')
    world.log.failing = undefined
    expect(all(world)).toEqual(['t/0=1'])
  })

  it('is not seen before it is replicated', () => {
    const world = withTopic()
    world.log.held = true
    const asked = world.commit({
      generationIdOrMemberEpoch: -1,
      topics: [{ name: 't', partitions: [{ partitionIndex: 0, committedOffset: 5, committedMetadata: null }] }],
    })
    const seen = world.fetch({ groups: [{ groupId: 'g', topics: null }] })
    expect([asked.parked, seen.parked]).toEqual([true, true])
    world.log.commit()
    world.settle()
    expect(seen.value.groups[0].topics[0].partitions[0].committedOffset).toBe(5)
  })
})

describe('a fetch', () => {
  it('of several groups answers each', () => {
    const world = withTopic()
    commit(world, { group: 'a', offset: 1 })
    commit(world, { group: 'b', offset: 2 })
    const { groups } = world.fetch({
      groups: ['a', 'b', 'none'].map(groupId => ({ groupId, topics: [{ name: 't', partitionIndexes: [0] }] })),
    }).value
    expect(groups.map(({ topics }) => topics[0].partitions[0].committedOffset)).toEqual([1, 2, -1])
  })

  it('by an unknown topic id says so in each partition', () => {
    const world = withTopic()
    commit(world)
    const topics = [{ topicId: 'nobodyknowsthisoneAAAA', partitionIndexes: [0] }]
    const { groups } = world.fetch({ groups: [{ groupId: 'g', topics }] }, 10).value
    expect(groups[0].topics[0]).toMatchObject({
      topicId: 'nobodyknowsthisoneAAAA',
      partitions: [{ partitionIndex: 0, committedOffset: -1, errorCode: 100 }],
    })
  })

  it('elsewhere is NOT_COORDINATOR, in the place that the version has', () => {
    const world = withTopic()
    world.coordinator.resigned(0)
    const topics = [{ name: 't', partitionIndexes: [0] }]
    const inVersion = (version: number) => world.fetch({ groupId: 'g', topics }, version).value
    expect(world.fetch({ groups: [{ groupId: 'g', topics }] }).value.groups[0]).toMatchObject({
      errorCode: 16,
      topics: [],
    })
    expect(inVersion(7)).toMatchObject({ errorCode: 16, topics: [] })
    expect(inVersion(1).topics[0].partitions[0]).toMatchObject({ errorCode: 16, committedOffset: -1 })
  })
})

describe('a topic that is deleted', () => {
  it('takes its offsets with it', () => {
    const world = withTopic(2)
    world.topics.create('u')
    for (const topic of ['t', 'u']) commit(world, { topic })
    commit(world, { partition: 1 })
    commit(world, { group: 'other' })
    world.coordinator.topicsDeleted([world.topics.delete('t')])
    expect([all(world), all(world, 'other')]).toEqual([['u/0=1'], []])
  })

  it('with thousands of offsets is no matter', () => {
    const world = withTopic(2_500)
    world.commit({
      generationIdOrMemberEpoch: -1,
      topics: [
        {
          name: 't',
          partitions: Array.from({ length: 2_500 }, (_, partitionIndex) => ({
            partitionIndex,
            committedOffset: 1,
            committedMetadata: null,
          })),
        },
      ],
    })
    world.coordinator.topicsDeleted([world.topics.delete('t')])
    expect(all(world)).toEqual([])
    expect(world.log.ends).toEqual([2_500, 3_500, 4_500, 5_000])
  })

  it('does not take those of a topic that has its name now', () => {
    const world = withTopic()
    commit(world, { offset: 7 })
    const deleted = world.topics.delete('t')
    world.topics.create('t')
    // Commits die with the topic, even before anybody has told the coordinator.
    expect(all(world)).toEqual([])
    const { groups } = world.fetch({
      groups: [{ groupId: 'g', topics: [{ name: 't', partitionIndexes: [0] }] }],
    }).value
    expect(groups[0].topics[0].partitions[0]).toMatchObject({ committedOffset: -1, errorCode: 0 })
    commit(world, { offset: 3 })
    world.coordinator.topicsDeleted([deleted])
    expect(all(world)).toEqual(['t/0=3'])
    expect(all(world, 'g', 10)).toEqual(['t/0=3'])
  })

  it('while nothing can be stored keeps its offsets out of sight, and loses them later', () => {
    const world = withTopic()
    commit(world, { offset: 7 })
    world.log.failing = 'NOT_ENOUGH_REPLICAS'
    world.coordinator.topicsDeleted([world.topics.delete('t')])
    world.topics.create('t')
    world.log.failing = undefined
    expect(all(world)).toEqual([])
    world.wait(world.config.offsetsRetentionCheckIntervalMs)
    expect(world.machine.offsets.groupIds).toEqual([])
  })
})

describe('offsets expire', () => {
  it('after the retention time for a group that has only offsets, each by its commit', () => {
    const world = withTopic(2)
    commit(world)
    world.wait(4 * DAY)
    commit(world, { partition: 1 })
    world.wait(3 * DAY - 1)
    expect(all(world)).toEqual(['t/0=1', 't/1=1'])
    world.wait(600_000)
    expect(all(world)).toEqual(['t/1=1'])
    world.wait(4 * DAY)
    expect(world.describe().value.groups[0].groupState).toBe('Dead')
  })

  it('counted from when the last member left, whenever they were committed', () => {
    const { world, memberId } = subscribed(['t'])
    commit(world, { memberId, generation: 1 })
    for (let passed = 0; passed < 10 * DAY; passed += 9_000_000) {
      world.group().member(memberId).sessionTimeoutMs = 20 * DAY
      world.heartbeat({ memberId, generationId: 1 })
      world.wait(9_000_000)
    }
    expect(all(world)).toEqual(['t/0=1'])
    world.leave({ members: [{ memberId }] })
    world.wait(7 * DAY - 1)
    expect(all(world)).toEqual(['t/0=1'])
    world.wait(600_000)
    expect(all(world)).toEqual([])
    expect(world.describe().value.groups[0].groupState).toBe('Dead')
  })

  it('of a group with members only for topics that it does not use', () => {
    const { world, memberId } = subscribed(['t'])
    world.topics.create('u')
    for (const topic of ['t', 'u']) commit(world, { topic, memberId, generation: 1 })
    world.group().member(memberId).sessionTimeoutMs = 20 * DAY
    world.heartbeat({ memberId, generationId: 1 })
    world.wait(8 * DAY)
    expect(all(world)).toEqual(['t/0=1'])
    expect(world.describe().value.groups[0].groupState).toBe('Stable')
  })

  it('never while a group has members whose topics are not known', () => {
    const { world, memberId } = subscribed(['t'], 'connect')
    commit(world, { memberId, generation: 1 })
    world.group().member(memberId).sessionTimeoutMs = 20 * DAY
    world.heartbeat({ memberId, generationId: 1 })
    world.wait(8 * DAY)
    expect(all(world)).toEqual(['t/0=1'])
  })

  it('by a retention time of their own, in versions 2 to 4', () => {
    const world = withTopic()
    commit(world, { retentionTimeMs: 1_000 }, 4)
    world.wait(600_000)
    expect(all(world)).toEqual([])
    commit(world, { retentionTimeMs: 30 * DAY }, 2)
    world.wait(29 * DAY)
    expect(all(world)).toEqual(['t/0=1'])
    world.reload()
    world.wait(DAY)
    expect(all(world)).toEqual([])
  })

  it('some at a time, and try again with the next scan when they cannot be stored', () => {
    const world = withTopic()
    for (let number = 0; number < 1_200; number++) commit(world, { group: `g${number}` })
    world.log.failing = 'NOT_ENOUGH_REPLICAS'
    world.wait(8 * DAY)
    expect(world.machine.offsets.groupIds).toHaveLength(1_200)
    world.log.failing = undefined
    world.wait(600_000)
    expect(world.machine.offsets.groupIds).toEqual([])
    expect(world.machine.context.groups.size).toBe(0)
    expect(Math.max(...world.log.ends.map((end, index) => end - (world.log.ends[index - 1] ?? 0)))).toBeLessThan(1_003)
  })
})

describe('OffsetDelete', () => {
  const topics = [{ name: 't', partitions: [{ partitionIndex: 0 }] }]

  it('spares topics that the group is subscribed to', () => {
    const { world, memberId } = subscribed(['t'])
    world.topics.create('u')
    for (const topic of ['t', 'u']) commit(world, { topic, memberId, generation: 1 })
    const { value } = world.deleteOffsets({ topics: [...topics, { ...topics[0], name: 'u' }] })
    const errors = value.topics.map(({ partitions }) => errorName(partitions[0].errorCode))
    expect(errors).toEqual(['GROUP_SUBSCRIBED_TO_TOPIC', 'NONE'])
    expect(all(world)).toEqual(['t/0=1'])
  })

  it('spares all topics when members say nothing that can be read', () => {
    const { world } = groupIn('Stable')
    world.topics.create('t')
    const { value } = world.deleteOffsets({ topics })
    expect(errorName(value.topics[0].partitions[0].errorCode)).toBe('GROUP_SUBSCRIBED_TO_TOPIC')
  })

  it('is refused for a group of another type that has members', () => {
    const { world, memberId } = subscribed(['t'], 'connect')
    expect(world.deleteOffsets({ topics }).value).toMatchObject({ errorCode: 68, topics: [] })
    world.leave({ members: [{ memberId }] })
    expect(world.deleteOffsets({ topics }).error).toBe('NONE')
  })

  it('needs a group', () => {
    const world = withTopic()
    expect(world.deleteOffsets({ topics }).value).toMatchObject({ errorCode: 69, topics: [] })
    expect(world.deleteOffsets({ groupId: '', topics }).error).toBe('INVALID_GROUP_ID')
    expect(world.deleteOffsets({ topics: [{ ...topics[0], name: 'missing' }] }).value).toMatchObject({
      errorCode: 69,
      topics: [],
    })
  })
})

describe('DeleteGroups', () => {
  it('takes the offsets with it, in one batch, once for each name', () => {
    const world = withTopic(2)
    commit(world)
    commit(world, { partition: 1 })
    expect(world.deleteGroups(['g', 'g', 'none']).value.results).toEqual([
      { groupId: 'g', errorCode: 0, errorMessage: null },
      { groupId: 'none', errorCode: 69, errorMessage: null },
    ])
    expect(world.log.ends).toEqual([1, 2, 5])
    world.reload()
    expect(world.machine.hardState()).toEqual({ groups: new Map(), offsets: new Map() })
  })

  it('ends the ids that the group has given out', () => {
    const scene = groupIn('Empty')
    const { memberId } = scene.world.join({}).value
    scene.world.deleteGroups(['g'])
    expect(scene.world.join({ memberId }).error).toBe('UNKNOWN_MEMBER_ID')
    expect(stateOf(scene)).toBe('Dead')
    // Only the scan for expired offsets is left.
    expect(scene.world.env.timers).toBe(1)
  })
})

describe('records that are not understood', () => {
  it('are passed over', () => {
    const world = withTopic()
    commit(world)
    world.log.append([{ key: new Uint8Array([0, 99, 1, 2]), value: bytes('?') }])
    world.reload()
    expect(all(world)).toEqual(['t/0=1'])
  })
})
