// One test per rule of sections 1, 2, 4 and 5 of the model's specification, named after it.

import { describe, expect, it } from 'vitest'
import {
  assignPartitions,
  ConsumerGroup,
  compactedView,
  type DeadLetter,
  ingest,
  NotAssignedError,
  OffsetOutOfRangeError,
  Partition,
  partitionFor,
  partitionForKey,
  redrive,
  Topic,
  type TopicOptions,
} from './index.ts'

/** A topic with `perPartition` records in each partition, values `p/offset`. */
function filled(numPartitions: number, perPartition: number, options?: TopicOptions): Topic<string, string> {
  const topic = new Topic<string, string>(numPartitions, options)
  for (let i = 0; i < perPartition; i++) {
    for (let p = 0; p < numPartitions; p++) topic.append(null, `${p}/${i}`)
  }
  return topic
}

const values = (records: { value: unknown }[]) => records.map(record => record.value)
const offsets = (records: { offset: number }[]) => records.map(record => record.offset)

describe('1. topic and consumer groups', () => {
  describe('partitioning', () => {
    it('is FNV-1a 32 of the UTF-8 bytes, modulo the partition count', () => {
      expect(partitionFor('', 2 ** 31 - 1)).toBe(0x811c9dc5 % (2 ** 31 - 1))
      expect(partitionFor('a', 1000)).toBe(0xe40c292c % 1000)
      expect(partitionFor('foobar', 7)).toBe(0xbf9cf968 % 7)
      expect(partitionFor(new TextEncoder().encode('Grüße 🎉'), 97)).toBe(partitionFor('Grüße 🎉', 97))
      expect(partitionFor('Grüße', 1000)).not.toBe(partitionFor('Gruesse', 1000))
    })

    it('sends a record where partitionFor says', () => {
      const topic = new Topic<string, number>(5)
      for (const key of ['a', 'b', '', '__proto__', 'constructor', '10']) {
        expect(topic.append(key, 1)[0]).toBe(partitionFor(key, 5))
      }
    })

    it('sends null keys round robin', () => {
      const topic = new Topic<string, number>(3)
      const partitions = [null, null, 'a', null, null].map(key => topic.append(key, 0)[0])
      expect([partitions[0], partitions[1], partitions[3], partitions[4]]).toEqual([0, 1, 2, 0])
    })

    it.each([[undefined], [1], [{}], [[]], [new Uint16Array(2)], [new ArrayBuffer(2)], [true], [Symbol('k')], [1n]])(
      'refuses the key %s with a TypeError',
      key => {
        const topic = new Topic(2)
        expect(() => topic.append(key as never, 0)).toThrow(TypeError)
        expect(() => topic.append(key as never, 0)).toThrow(/key/)
        expect(() => partitionFor(key as never, 2)).toThrow(TypeError)
        expect(topic.endOffset(0) + topic.endOffset(1)).toBe(0)
      },
    )

    it('takes murmur2, Kafka’s own default', () => {
      const topic = new Topic<string, number>(1000, { partitioner: 'murmur2' })
      expect(topic.append('21', 0)[0]).toBe((-973932308 & 0x7fffffff) % 1000)
      expect(topic.append('foobar', 0)[0]).toBe((-790332482 & 0x7fffffff) % 1000)
      expect(topic.append('abc', 0)[0]).toBe(479470107 % 1000)
    })

    it('takes a function, and believes it only if it answers with a partition', () => {
      const answers: unknown[] = [1, 2, -1, 0.5, Number.NaN, '0', undefined]
      const topic = new Topic<string, number>(2, { partitioner: () => answers.shift() as number })
      expect(topic.append('k', 0)).toEqual([1, 0])
      for (const wrong of answers.slice()) {
        expect(() => topic.append('k', 0)).toThrow(RangeError)
        expect(wrong).not.toBe(1)
      }
      expect([topic.endOffset(0), topic.endOffset(1)]).toEqual([0, 1])
    })
  })

  it('offsets start at 0 and count up by one per partition; endOffset is the next one', () => {
    const topic = new Topic<string, number>(2)
    expect(topic.endOffset(0)).toBe(0)
    expect([topic.append(null, 0), topic.append(null, 0), topic.append(null, 0)]).toEqual([
      [0, 0],
      [1, 0],
      [0, 1],
    ])
    expect([topic.endOffset(0), topic.endOffset(1)]).toEqual([2, 1])
  })

  it('groups are independent: each reads the whole topic with its own positions and committed offsets', () => {
    const topic = filled(1, 3)
    topic.join('g', 'a')
    topic.join('h', 'a')
    expect(values(topic.poll('g', 'a'))).toEqual(['0/0', '0/1', '0/2'])
    topic.commit('g', 'a')
    expect(values(topic.poll('h', 'a', 2))).toEqual(['0/0', '0/1'])
    topic.commit('h', 'a')
    expect([topic.committed('g', 0), topic.committed('h', 0), topic.committed('other', 0)]).toEqual([3, 2, 0])
  })

  describe('join, leave', () => {
    it('a change of membership rebalances', () => {
      const topic = filled(4, 1)
      topic.join('g', 'a')
      expect(topic.assignment('g', 'a')).toEqual([0, 1, 2, 3])
      topic.join('g', 'b')
      expect([topic.assignment('g', 'a'), topic.assignment('g', 'b')]).toEqual([
        [0, 1],
        [2, 3],
      ])
      topic.leave('g', 'a')
      expect([topic.assignment('g', 'a'), topic.assignment('g', 'b')]).toEqual([[], [0, 1, 2, 3]])
    })

    it('joining twice, or leaving when not a member, does nothing at all', () => {
      const topic = filled(2, 3)
      topic.join('g', 'a')
      topic.poll('g', 'a', 4)
      topic.join('g', 'a')
      topic.leave('g', 'nobody')
      topic.leave('no group', 'a')
      expect(values(topic.poll('g', 'a'))).toEqual(['1/1', '1/2'])
    })
  })

  describe('assignment', () => {
    it('is range by default: consecutive partitions, the first members one more, in plain string order', () => {
      const topic = new Topic(6)
      for (const member of ['C', 'A', 'B']) topic.join('g', member)
      expect(['A', 'B', 'C'].map(member => topic.assignment('g', member))).toEqual([
        [0, 1],
        [2, 3],
        [4, 5],
      ])
      const plain = new Topic(4)
      for (const member of ['b', 'a', 'B', '10', '9']) plain.join('g', member)
      expect(['10', '9', 'B', 'a', 'b'].map(member => plain.assignment('g', member))).toEqual([[0], [1], [2], [3], []])
    })

    it('is empty for an idle or unknown consumer, and a fresh array each time', () => {
      const topic = new Topic(1)
      topic.join('g', 'a')
      topic.join('g', 'b')
      expect([topic.assignment('g', 'b'), topic.assignment('g', 'x'), topic.assignment('x', 'a')]).toEqual([[], [], []])
      topic.assignment('g', 'a').push(99)
      topic.assignment('g', 'b').push(99)
      expect([topic.assignment('g', 'a'), topic.assignment('g', 'b')]).toEqual([[0], []])
      expect(topic.assignment('g', 'a')).not.toBe(topic.assignment('g', 'a'))
    })

    it('takes names like __proto__ and 10 as they are', () => {
      const topic = new Topic<string, number>(2)
      topic.append('__proto__', 1)
      topic.join('__proto__', '__proto__')
      topic.join('__proto__', 'constructor')
      expect(topic.assignment('__proto__', '__proto__')).toEqual([0])
      expect(topic.assignment('__proto__', 'constructor')).toEqual([1])
      expect(topic.assignment('toString', 'toString')).toEqual([])
    })
  })

  describe('poll', () => {
    it('drains the lower partition first, in offset order, at most maxRecords', () => {
      const topic = filled(2, 3)
      topic.join('g', 'a')
      expect(topic.poll('g', 'a', 4)).toEqual([
        { partition: 0, offset: 0, key: null, value: '0/0' },
        { partition: 0, offset: 1, key: null, value: '0/1' },
        { partition: 0, offset: 2, key: null, value: '0/2' },
        { partition: 1, offset: 0, key: null, value: '1/0' },
      ])
      expect(values(topic.poll('g', 'a'))).toEqual(['1/1', '1/2'])
      expect(topic.poll('g', 'a')).toEqual([])
      topic.append(null, 'late')
      expect(values(topic.poll('g', 'a'))).toEqual(['late'])
    })

    it('gives 100 records by default', () => {
      const topic = filled(1, 150)
      topic.join('g', 'a')
      expect([topic.poll('g', 'a').length, topic.poll('g', 'a').length]).toEqual([100, 50])
    })

    it('commits nothing', () => {
      const topic = filled(1, 3)
      topic.join('g', 'a')
      topic.poll('g', 'a')
      expect(topic.committed('g', 0)).toBe(0)
    })

    it('is empty for an idle or unknown consumer, and for maxRecords 0', () => {
      const topic = filled(1, 3)
      topic.join('g', 'a')
      topic.join('g', 'idle')
      expect([topic.poll('g', 'idle'), topic.poll('g', 'x'), topic.poll('x', 'a'), topic.poll('g', 'a', 0)]).toEqual([
        [],
        [],
        [],
        [],
      ])
      expect(topic.poll('g', 'a').length).toBe(3)
    })
  })

  describe('commit', () => {
    it('without offsets: the positions of all its partitions', () => {
      const topic = filled(2, 3)
      topic.join('g', 'a')
      topic.poll('g', 'a', 4)
      topic.commit('g', 'a')
      expect([topic.committed('g', 0), topic.committed('g', 1)]).toEqual([3, 1])
    })

    it('with offsets: those, any non-negative one; the offset is the next to read', () => {
      const topic = filled(2, 3)
      topic.join('g', 'a')
      topic.commit('g', 'a', { 0: 2, 1: Number.MAX_SAFE_INTEGER })
      expect([topic.committed('g', 0), topic.committed('g', 1)]).toEqual([2, Number.MAX_SAFE_INTEGER])
      topic.commit('g', 'a', { 1: -0 })
      expect(topic.committed('g', 1)).toBe(0)
      topic.leave('g', 'a')
      topic.join('g', 'b')
      expect(values(topic.poll('g', 'b', 1))).toEqual(['0/2'])
    })

    it('does not move positions', () => {
      const topic = filled(1, 5)
      topic.join('g', 'a')
      topic.commit('g', 'a', { 0: 4 })
      expect(values(topic.poll('g', 'a', 2))).toEqual(['0/0', '0/1'])
      topic.commit('g', 'a', { 0: 0 })
      expect(values(topic.poll('g', 'a', 1))).toEqual(['0/2'])
    })
  })

  describe('commit guard', () => {
    const stale = () => {
      const topic = filled(2, 3)
      topic.join('g', 'a')
      topic.poll('g', 'a')
      topic.join('g', 'b')
      return topic
    }

    it.each(['1', '2', '-1', '01', '1.5', '', ' 0', '0x0', 'abc', '__proto__', '1e0'])(
      'a partition that is not its own now (%j): NotAssignedError, and nothing is stored',
      partition => {
        const topic = stale()
        const wanted = Object.fromEntries([
          ['0', 2],
          [partition, 3],
        ])
        expect(() => topic.commit('g', 'a', wanted)).toThrow(NotAssignedError)
        expect([topic.committed('g', 0), topic.committed('g', 1)]).toEqual([0, 0])
      },
    )

    it('stops unknown, idle and departed consumers', () => {
      const topic = stale()
      topic.leave('g', 'a')
      for (const [group, member] of [['g', 'a'] as const, ['g', 'x'] as const, ['x', 'b'] as const]) {
        expect(() => topic.commit(group, member, { 0: 1 })).toThrow(NotAssignedError)
      }
      expect(topic.committed('g', 0)).toBe(0)
    })

    it('without offsets, a consumer with no partitions commits nothing', () => {
      const topic = stale()
      topic.join('g', 'idle')
      for (const member of ['idle', 'x']) topic.commit('g', member)
      topic.commit('x', 'a')
      topic.commit('g', 'x', {})
      expect([topic.committed('g', 0), topic.committed('g', 1), topic.committed('x', 0)]).toEqual([0, 0, 0])
    })

    it('is an Error with a name and a message that says whose it is not', () => {
      const topic = stale()
      expect(() => topic.commit('g', 'a', { 1: 3 })).toThrow(/1.*a.*g/)
      expect(new NotAssignedError('g', 'a', '1')).toBeInstanceOf(Error)
      expect(new NotAssignedError('g', 'a', '1').name).toBe('NotAssignedError')
    })
  })

  it('committed survives every member leaving', () => {
    const topic = filled(1, 3)
    topic.join('g', 'a')
    topic.poll('g', 'a', 2)
    topic.commit('g', 'a')
    topic.leave('g', 'a')
    expect(topic.committed('g', 0)).toBe(2)
    topic.join('g', 'b')
    expect(values(topic.poll('g', 'b'))).toEqual(['0/2'])
  })

  describe('rebalance', () => {
    it('eager: what was polled and not committed is delivered again', () => {
      const topic = filled(2, 3)
      topic.join('g', 'a')
      topic.poll('g', 'a', 5)
      topic.commit('g', 'a', { 0: 1 })
      topic.join('g', 'b')
      expect(values(topic.poll('g', 'a'))).toEqual(['0/1', '0/2'])
      expect(values(topic.poll('g', 'b'))).toEqual(['1/0', '1/1', '1/2'])
    })

    it('cooperative: partitions whose owner did not change keep their position', () => {
      const topic = filled(2, 3, { rebalance: 'cooperative' })
      topic.join('g', 'a')
      topic.poll('g', 'a', 5)
      topic.commit('g', 'a', { 0: 1 })
      topic.join('g', 'b')
      expect(topic.poll('g', 'a')).toEqual([])
      expect(values(topic.poll('g', 'b'))).toEqual(['1/0', '1/1', '1/2'])
      topic.leave('g', 'b')
      expect(values(topic.poll('g', 'a'))).toEqual(['1/0', '1/1', '1/2'])
    })

    it('a committed offset beyond the end starts the reader at the earliest record', () => {
      const topic = filled(1, 3)
      topic.join('g', 'a')
      topic.commit('g', 'a', { 0: 50 })
      topic.leave('g', 'a')
      topic.join('g', 'a')
      expect(offsets(topic.poll('g', 'a'))).toEqual([0, 1, 2])
      expect(topic.committed('g', 0)).toBe(50)
    })

    it('a committed offset at the end is not beyond it', () => {
      const topic = filled(1, 3)
      topic.join('g', 'a')
      topic.commit('g', 'a', { 0: 3 })
      topic.leave('g', 'a')
      topic.join('g', 'a')
      expect(topic.poll('g', 'a')).toEqual([])
    })
  })

  it('assignors: roundrobin, sticky, and cooperative-sticky to the end of its rounds', () => {
    const shares = (assignor: TopicOptions['assignor']) => {
      const topic = new Topic(7, { assignor })
      for (const member of ['A', 'B', 'C']) topic.join('g', member)
      return ['A', 'B', 'C'].map(member => topic.assignment('g', member))
    }
    expect(shares('roundrobin')).toEqual([
      [0, 3, 6],
      [1, 4],
      [2, 5],
    ])
    for (const assignor of ['sticky', 'cooperative-sticky'] as const) {
      const all = shares(assignor)
      expect(all.flat().sort()).toEqual([0, 1, 2, 3, 4, 5, 6])
      expect(all[0]).toEqual([...all[0]].sort())
      expect(all.map(share => share.length).sort()).toEqual([2, 2, 3])
    }
  })

  describe('bad input', () => {
    const bad = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, '1', null, {}, [1], true, 1n, Symbol('s')]

    it.each([0, undefined, ...bad])('partition count %s', count => {
      expect(() => new Topic(count as number)).toThrow(RangeError)
      expect(() => new Topic(count as number)).toThrow(/numPartitions/)
      expect(() => partitionFor('k', count as number)).toThrow(RangeError)
    })

    it.each([2, undefined, ...bad])('partition %s', partition => {
      const topic = filled(2, 1)
      expect(() => topic.endOffset(partition as number)).toThrow(RangeError)
      expect(() => topic.committed('g', partition as number)).toThrow(/partition/)
    })

    it.each(bad)('maxRecords %s', maxRecords => {
      const topic = filled(1, 3)
      topic.join('g', 'a')
      expect(() => topic.poll('g', 'a', maxRecords as number)).toThrow(RangeError)
      expect(() => topic.poll('g', 'nobody', maxRecords as number)).toThrow(/maxRecords/)
      expect(topic.poll('g', 'a').length).toBe(3)
    })

    it.each(bad)('offset %s', offset => {
      const topic = filled(2, 3)
      topic.join('g', 'a')
      expect(() => topic.commit('g', 'a', { 0: 1, 1: offset as number })).toThrow(RangeError)
      expect(() => topic.commit('g', 'a', { 1: offset as number })).toThrow(/offset/)
      expect(topic.committed('g', 0)).toBe(0)
    })

    it('names the value', () => {
      expect(() => new Topic(-7)).toThrow(/-7/)
      expect(() => new Topic('x' as never)).toThrow(/"x"/)
      expect(() => new Topic(Object.create(null))).toThrow(/numPartitions.*object/)
    })

    it.each([
      [{ assignor: 'best' }, /assignor.*best/],
      [{ rebalance: 'lazy' }, /rebalance.*lazy/],
      [{ partitioner: 'crc' }, /partitioner.*crc/],
      [{ partitioner: 3 }, /partitioner.*3/],
    ])('option %j', (options, message) => {
      expect(() => new Topic(1, options as never)).toThrow(RangeError)
      expect(() => new Topic(1, options as never)).toThrow(message)
    })

    it('names that are no strings, offsets that are no object', () => {
      const topic = filled(1, 1)
      expect(() => topic.join(1 as never, 'a')).toThrow(TypeError)
      expect(() => topic.join('g', undefined as never)).toThrow(/consumerId/)
      topic.join('g', 'a')
      for (const offsets of [null, 3, '1', new Map([[0, 1]])]) {
        expect(() => topic.commit('g', 'a', offsets as never)).toThrow(TypeError)
      }
      expect(topic.committed('g', 0)).toBe(0)
    })
  })
})

describe('2. partition, retention, compaction', () => {
  const tenRecords = () => {
    const partition = new Partition<string, string>()
    for (let i = 0; i < 10; i++) partition.append(`k${i}`, `v${i}`, { timestamp: i * 10 })
    return partition
  }

  it('partitionForKey is the same function as partitionFor', () => expect(partitionForKey).toBe(partitionFor))

  it('new Partition: append, read, startOffset, endOffset, length', () => {
    const partition = new Partition<string, number>()
    expect([partition.startOffset, partition.endOffset, partition.length]).toEqual([0, 0, 0])
    expect(partition.append('a', 1)).toBe(0)
    expect(partition.append(null, 2, { timestamp: 5, headers: { h: 'x' } })).toBe(1)
    expect(partition.read(0)).toEqual([
      { offset: 0, key: 'a', value: 1, timestamp: 0, headers: {} },
      { offset: 1, key: null, value: 2, timestamp: 5, headers: { h: 'x' } },
    ])
    expect([offsets(partition.read(0, 1)), partition.read(0, 0), partition.read(2)]).toEqual([[0], [], []])
    partition.read(0)[0].value = 99
    expect(partition.read(0)[0].value).toBe(1)
    expect([partition.startOffset, partition.endOffset, partition.length]).toEqual([0, 2, 2])
  })

  it('absolute offsets: retention moves startOffset, offsets never renumber', () => {
    const partition = tenRecords()
    expect(partition.retainCount(4)).toBe(6)
    expect([partition.startOffset, partition.endOffset, partition.length]).toEqual([6, 10, 4])
    expect(offsets(partition.read(6))).toEqual([6, 7, 8, 9])
    expect(partition.append('k', 'v')).toBe(10)
    expect([partition.retainCount(0), partition.startOffset, partition.endOffset]).toEqual([5, 11, 11])
    expect(partition.append('k', 'v')).toBe(11)
  })

  it('retainCount, retainTime, retainBytes drop the oldest prefix and say how many went', () => {
    expect([tenRecords().retainCount(10), tenRecords().retainCount(99), tenRecords().retainCount(0)]).toEqual([
      0, 0, 10,
    ])
    // Age equal to the limit stays: at 90 the record of 50 is exactly 40 old.
    const byTime = tenRecords()
    expect([byTime.retainTime(40, 90), byTime.startOffset]).toEqual([5, 5])
    expect(byTime.retainTime(40, 90)).toBe(0)
    expect(tenRecords().retainTime(0, 1000)).toBe(10)
    const bySize = tenRecords()
    expect([bySize.retainBytes(40, () => 10), bySize.startOffset]).toEqual([6, 6])
    expect(tenRecords().retainBytes(16)).toBe(6)
    expect(tenRecords().retainBytes(0, () => 1)).toBe(10)
  })

  it('an older record behind a younger one stays', () => {
    const partition = new Partition<string, number>()
    for (const timestamp of [1, 100, 2, 101]) partition.append('k', 0, { timestamp })
    expect(partition.retainTime(10, 105)).toBe(1)
    expect(offsets(partition.read(1))).toEqual([1, 2, 3])
  })

  it('reading outside: OffsetOutOfRangeError with both ends; at the end nothing', () => {
    const partition = tenRecords()
    partition.retainCount(4)
    for (const offset of [5, 0, -1, 11, Number.MAX_SAFE_INTEGER]) {
      expect(() => partition.read(offset)).toThrow(OffsetOutOfRangeError)
    }
    expect(() => partition.read(5)).toThrow(expect.objectContaining({ offset: 5, startOffset: 6, endOffset: 10 }))
    expect(partition.read(10)).toEqual([])
  })

  it('compactedView: latest value per key in order of last write; null deletes', () => {
    const partition = new Partition<string, number | null>()
    const history: [string, number | null][] = [
      ['a', 1],
      ['b', 2],
      ['__proto__', 3],
      ['a', 4],
      ['b', null],
      ['c', 0],
    ]
    for (const [key, value] of history) partition.append(key, value)
    const wanted = [
      ['__proto__', 3],
      ['a', 4],
      ['c', 0],
    ]
    expect([...compactedView(partition)]).toEqual(wanted)
    expect([...compactedView(history.map(([key, value]) => ({ key, value })))]).toEqual(wanted)
    expect([...compactedView(partition.read(0))]).toEqual(wanted)
    partition.append('b', 5)
    expect([...compactedView(partition).keys()]).toEqual(['__proto__', 'a', 'c', 'b'])
  })

  it('compactedView: keys of bytes are equal by content, and not to a string', () => {
    const key = (...bytes: number[]) => Uint8Array.from(bytes)
    const records = [
      { key: key(1, 2), value: 'old' },
      { key: key(1, 2), value: 'new' },
      { key: '1,2', value: 'text' },
    ]
    expect([...compactedView<string | Uint8Array, string>(records).values()]).toEqual(['new', 'text'])
  })

  it('compactedView: a record without a key is a TypeError', () => {
    expect(() => compactedView([{ key: null, value: 1 }])).toThrow(TypeError)
    expect(() => compactedView([{ value: 1 } as never])).toThrow(/key/)
  })

  it('compact keeps the last record of each key at its offset; reads skip the holes', () => {
    const partition = new Partition<string, number | null>()
    for (const [key, value] of [
      ['a', 1],
      ['b', 2],
      ['a', 3],
      ['b', null],
      ['c', 4],
    ] as const)
      partition.append(key, value)
    const table = compactedView(partition)
    partition.compact()
    expect(offsets(partition.read(0))).toEqual([2, 3, 4])
    expect(offsets(partition.read(1, 2))).toEqual([2, 3])
    expect([partition.startOffset, partition.endOffset, partition.length]).toEqual([0, 5, 3])
    expect(compactedView(partition)).toEqual(table)
    partition.compact({ tombstones: 'drop' })
    expect(offsets(partition.read(0))).toEqual([2, 4])
    expect(compactedView(partition)).toEqual(table)
    expect(partition.append('d', 5)).toBe(5)
  })

  it('compact with a keyless record, or an unknown choice, changes nothing', () => {
    const partition = new Partition<string, number>()
    partition.append('a', 1)
    partition.append('a', 2)
    expect(() => partition.compact({ tombstones: 'burn' as never })).toThrow(RangeError)
    partition.append(null, 3)
    expect(() => partition.compact()).toThrow(TypeError)
    expect(offsets(partition.read(0))).toEqual([0, 1, 2])
  })

  it.each([-1, 0.5, Number.NaN, '3', null])('bad input %s: RangeError, nothing changed', bad => {
    const partition = tenRecords()
    const n = bad as number
    expect(() => partition.retainCount(n)).toThrow(RangeError)
    expect(() => partition.retainTime(n, 0)).toThrow(/ms/)
    expect(() => partition.retainTime(0, n)).toThrow(/now/)
    expect(() => partition.retainBytes(n)).toThrow(RangeError)
    expect(() => partition.retainBytes(1, () => n)).toThrow(/sizeOf/)
    expect(() => partition.read(0, n)).toThrow(/max/)
    expect(() => partition.read(n)).toThrow(RangeError)
    expect(() => partition.append('k', 'v', { timestamp: n })).toThrow(/timestamp/)
    expect([partition.startOffset, partition.endOffset, partition.length]).toEqual([0, 10, 10])
  })
})

describe('4. consumer group: replay and lag', () => {
  const twoPartitions = () => {
    const partitions = [new Partition<string, number>(), new Partition<string, number>()]
    for (let i = 0; i < 10; i++) partitions[0].append('k', i, { timestamp: i * 10 })
    for (let i = 0; i < 5; i++) partitions[1].append('k', i, { timestamp: i * 10 })
    return partitions
  }

  it('poll goes through the partitions in ascending order', () => {
    const group = new ConsumerGroup(twoPartitions())
    const polled = group.poll(12).map(({ partition, offset }) => `${partition}/${offset}`)
    expect([polled.length, polled[9], polled[10]]).toEqual([12, '0/9', '1/0'])
    expect([group.position(0), group.position(1), group.lag()]).toEqual([10, 2, 3])
    expect(offsets(group.poll())).toEqual([2, 3, 4])
    expect(group.poll()).toEqual([])
    expect(group.poll(0)).toEqual([])
  })

  it('pollPartition reads one', () => {
    const group = new ConsumerGroup(twoPartitions())
    expect(offsets(group.pollPartition(1, 2))).toEqual([0, 1])
    expect([group.position(0), group.position(1)]).toEqual([0, 2])
    expect(group.pollPartition(1)[0]).toEqual({
      partition: 1,
      offset: 2,
      key: 'k',
      value: 2,
      timestamp: 20,
      headers: {},
    })
  })

  it('commit commits the positions; committed is 0 if there is none', () => {
    const group = new ConsumerGroup(twoPartitions())
    group.poll(3)
    expect(group.committed(0)).toBe(0)
    group.commit()
    expect([group.committed(0), group.committed(1)]).toEqual([3, 0])
  })

  it('commitThrough commits the offset after it and never lowers', () => {
    const group = new ConsumerGroup(twoPartitions())
    group.commitThrough(0, 4)
    expect([group.committed(0), group.position(0)]).toEqual([5, 0])
    group.commitThrough(0, 2)
    expect(group.committed(0)).toBe(5)
    expect(() => group.commitThrough(0, Number.MAX_SAFE_INTEGER)).toThrow(RangeError)
  })

  it('seek(0, 0) makes the lag jump back up; with commit() it also lowers the committed offset', () => {
    const group = new ConsumerGroup(twoPartitions())
    group.poll()
    group.commit()
    expect([group.lag(), group.committedLag()]).toEqual([0, 0])
    group.seek(0, 0)
    expect([group.lag(), group.lag(0), group.lag(1), group.committedLag()]).toEqual([10, 10, 0, 0])
    group.commit()
    expect([group.committed(0), group.committedLag(), group.committedLag(0)]).toEqual([0, 10, 10])
    expect(offsets(group.poll(2))).toEqual([0, 1])
  })

  it('seekToTime goes to the first record that is not older, or to the end', () => {
    const group = new ConsumerGroup(twoPartitions())
    const positionAt = (ms: number) => {
      group.seekToTime(0, ms)
      return group.position(0)
    }
    expect([positionAt(0), positionAt(30), positionAt(31), positionAt(90), positionAt(91)]).toEqual([0, 3, 4, 9, 10])
  })

  it('lag is Σ(end − max(position, start)), committedLag the same from committed', () => {
    const partitions = twoPartitions()
    const group = new ConsumerGroup(partitions)
    group.poll(4)
    partitions[0].retainCount(3)
    expect([group.lag(), group.lag(0), group.committedLag()]).toEqual([8, 3, 8])
    partitions[0].append('k', 10)
    expect([group.lag(), group.lag(0)]).toEqual([9, 4])
  })

  it('earliest: when retention has passed the position, it reads on at the start, and lost counts', () => {
    const partitions = twoPartitions()
    const group = new ConsumerGroup(partitions)
    group.poll(4)
    partitions[0].retainCount(3)
    expect(group.lost(0)).toBe(3)
    expect(offsets(group.pollPartition(0))).toEqual([7, 8, 9])
    expect([group.lost(0), group.lost(1)]).toEqual([3, 0])
  })

  it('latest: it starts, and goes on, at the end', () => {
    const partitions = twoPartitions()
    const group = new ConsumerGroup(partitions, { autoOffsetReset: 'latest' })
    expect(group.poll()).toEqual([])
    for (let i = 0; i < 4; i++) partitions[0].append('k', i)
    partitions[0].retainCount(1)
    expect(group.poll()).toEqual([])
    expect([group.position(0), group.lost(0)]).toEqual([14, 4])
  })

  it('none: OffsetOutOfRangeError, and no partition moves', () => {
    const partitions = twoPartitions()
    const group = new ConsumerGroup(partitions, { autoOffsetReset: 'none' })
    partitions[1].retainCount(1)
    expect(() => group.poll()).toThrow(OffsetOutOfRangeError)
    expect([group.position(0), group.position(1)]).toEqual([0, 0])
    expect(() => group.pollPartition(1)).toThrow(expect.objectContaining({ startOffset: 4, endOffset: 5 }))
    expect(group.pollPartition(0).length).toBe(10)
  })

  it('what was read before is not lost when a replay comes too late', () => {
    const partitions = twoPartitions()
    const group = new ConsumerGroup(partitions)
    group.poll()
    partitions[0].retainCount(4)
    group.seek(0, 0)
    expect([offsets(group.pollPartition(0)), group.lost(0)]).toEqual([[6, 7, 8, 9], 0])
  })

  it('reads over the holes of compaction', () => {
    const [partition] = twoPartitions()
    const group = new ConsumerGroup([partition])
    partition.compact()
    expect(offsets(group.poll())).toEqual([9])
    partition.append('k', null as never)
    partition.compact({ tombstones: 'drop' })
    expect([group.poll(), group.lag()]).toEqual([[], 0])
  })

  it.each([-1, 2, 0.5, Number.NaN, '0', null])('bad partition %s', bad => {
    const group = new ConsumerGroup(twoPartitions())
    const p = bad as number
    const calls = [
      () => group.pollPartition(p),
      () => group.position(p),
      () => group.committed(p),
      () => group.commitThrough(p, 0),
      () => group.seek(p, 0),
      () => group.seekToTime(p, 0),
      () => group.lag(p),
      () => group.committedLag(p),
      () => group.lost(p),
    ]
    for (const call of calls) expect(call).toThrow(RangeError)
  })

  it.each([-1, 0.5, Number.NaN, '0', null])('bad number %s', bad => {
    const group = new ConsumerGroup(twoPartitions())
    const n = bad as number
    const calls = [
      () => group.poll(n),
      () => group.pollPartition(0, n),
      () => group.commitThrough(0, n),
      () => group.seek(0, n),
      () => group.seekToTime(0, n),
    ]
    for (const call of calls) expect(call).toThrow(RangeError)
    expect([group.position(0), group.committed(0)]).toEqual([0, 0])
    expect(() => new ConsumerGroup([], { autoOffsetReset: 'oldest' as never })).toThrow(/autoOffsetReset/)
    expect(() => new ConsumerGroup(3 as never)).toThrow(TypeError)
  })
})

interface Order {
  amount: number
}
type Letter = DeadLetter<string, Order>

describe('5. ingest, dead letter queue, redrive', () => {
  const topics = () => ({
    topic: new Topic<string, Order>(2),
    dlq: new Topic<string, Letter>(2),
    parked: new Topic<string, Letter>(1),
  })
  const validate = (record: { value: Order }) => record.value.amount > 0
  const poison = { key: 'bad', value: { amount: -1 } }
  const all = <V>(topic: Topic<string, V>) =>
    Array.from({ length: topic.numPartitions }, (_, p) => topic.read(p, 0, 1000)).flat()

  describe('ingest', () => {
    it('valid → main topic', () => {
      const { topic, dlq } = topics()
      const answer = ingest({ key: 'a', value: { amount: 1 } }, { validate, topic, dlq })
      expect(answer).toEqual({ partition: partitionFor('a', 2), offset: 0 })
      expect(all(topic)).toEqual([{ partition: partitionFor('a', 2), offset: 0, key: 'a', value: { amount: 1 } }])
      expect(all(dlq)).toEqual([])
    })

    it('invalid → DLQ, under the original key', () => {
      const { topic, dlq } = topics()
      const answer = ingest(poison, { validate, topic, dlq, now: 7 })
      expect(answer).toEqual({ reason: expect.any(String) })
      expect(all(topic)).toEqual([])
      const [letter] = all(dlq)
      expect(letter.key).toBe('bad')
      expect(letter.value).toEqual({ ...answer, record: poison, attempts: 1, failedAt: 7 })
      expect(letter.partition).toBe(partitionFor('bad', 2))
    })

    it('a time that is not given is 0', () => {
      const { topic, dlq } = topics()
      ingest(poison, { validate, topic, dlq })
      expect(all(dlq)[0].value.failedAt).toBe(0)
    })

    it.each([
      [new Error('boom'), 'boom'],
      ['just text', 'just text'],
      [undefined, 'undefined'],
      [null, 'null'],
      [Object.create(null), 'the validator threw'],
    ])('a validator that throws %s: the record is invalid, its message the reason', (thrown, reason) => {
      const { topic, dlq } = topics()
      const throwing = () => {
        throw thrown
      }
      expect(ingest(poison, { validate: throwing, topic, dlq })).toEqual({ reason })
      expect(all(dlq).length).toBe(1)
    })

    it('one poison record never stops the next', () => {
      const { topic, dlq } = topics()
      const stream = [poison, null, undefined, 'junk', { key: 5, value: 1 }, { key: 'x', value: null }, {}, []]
      for (const record of stream) expect(ingest(record as never, { validate, topic, dlq })).toHaveProperty('reason')
      expect(ingest({ key: 'ok', value: { amount: 1 } }, { validate, topic, dlq })).toHaveProperty('offset')
      expect(all(dlq).map(letter => letter.value.record)).toEqual(expect.arrayContaining(stream))
      expect(all(dlq).length).toBe(stream.length)
    })

    it('only true is valid', () => {
      const { topic, dlq } = topics()
      for (const answer of [false, undefined, null, 0, '', 1, 'yes', {}]) {
        expect(ingest(poison, { validate: (() => answer) as never, topic, dlq })).toHaveProperty('reason')
      }
      expect(all(topic)).toEqual([])
    })

    it('takes any synchronous Standard Schema, of the value', () => {
      const { topic, dlq } = topics()
      const schema = {
        '~standard': {
          version: 1 as const,
          vendor: 'test',
          validate: (value: unknown) =>
            (value as Order).amount > 0
              ? { value }
              : {
                  issues: [
                    { message: 'too small', path: ['amount'] },
                    { message: 'odd', path: [{ key: 'x' }, 0] },
                  ],
                },
        },
      }
      expect(ingest({ key: 'a', value: { amount: 1 } }, { validate: schema, topic, dlq })).toHaveProperty('offset')
      expect(ingest(poison, { validate: schema, topic, dlq })).toEqual({ reason: 'amount: too small; x.0: odd' })
      // arktype's schemas are functions.
      const callable = Object.assign(() => 'not me', schema)
      expect(ingest({ key: 'a', value: { amount: 1 } }, { validate: callable as never, topic, dlq })).toHaveProperty(
        'offset',
      )
    })

    it('one that answers with a promise is a TypeError, and nothing changed', async () => {
      const { topic, dlq } = topics()
      const rejecting = (async () => {
        throw new Error('later')
      }) as never
      const schema = { '~standard': { version: 1 as const, vendor: 'test', validate: rejecting } }
      for (const validator of [rejecting, (async () => true) as never, schema]) {
        expect(() => ingest(poison, { validate: validator, topic, dlq })).toThrow(TypeError)
      }
      expect(all(dlq)).toEqual([])
      // An unhandled rejection would fail this run.
      await new Promise(resolve => setTimeout(resolve, 0))
    })

    it('a validator that is none is a TypeError', () => {
      const { topic, dlq } = topics()
      for (const validator of [undefined, null, 3, {}, 'schema']) {
        expect(() => ingest(poison, { validate: validator as never, topic, dlq })).toThrow(/validate/)
      }
      expect(() => ingest(poison, { validate, topic, dlq, now: -1 })).toThrow(/now/)
    })
  })

  describe('redrive', () => {
    const withLetters = () => {
      const world = topics()
      for (let i = 1; i <= 4; i++) ingest({ key: `k${i % 2}`, value: { amount: -i } }, { validate, ...world })
      return world
    }
    const fixed = () => true
    const amounts = (topic: Topic<string, Order>) => all(topic).map(record => record.value.amount)

    it('puts records back in order, with their original key; a second run does nothing twice', () => {
      const { topic, dlq } = withLetters()
      expect(redrive(dlq, { validate: fixed, topic })).toEqual({ landed: 4, failed: 0, parked: 0, skipped: 0 })
      const byKey = (key: string) => all(topic).filter(record => record.key === key)
      expect(byKey('k1').map(record => record.value.amount)).toEqual([-1, -3])
      expect(byKey('k0').map(record => record.value.amount)).toEqual([-2, -4])
      expect(redrive(dlq, { validate: fixed, topic })).toEqual({ landed: 0, failed: 0, parked: 0, skipped: 0 })
      expect(all(topic).length).toBe(4)
    })

    it('its progress is the committed offset of the group redrive', () => {
      const { topic, dlq } = withLetters()
      redrive(dlq, { validate: fixed, topic })
      expect([dlq.committed('redrive', 0), dlq.committed('redrive', 1)]).toEqual([dlq.endOffset(0), dlq.endOffset(1)])
    })

    it('what fails again is appended anew with one attempt more, behind the end of this run', () => {
      const { topic, dlq } = withLetters()
      const report = redrive(dlq, { validate: r => r.value.amount === -3, topic, now: 50 })
      expect(report).toEqual({ landed: 1, failed: 3, parked: 0, skipped: 0 })
      expect(amounts(topic)).toEqual([-3])
      const letters = all(dlq).filter(letter => letter.value.attempts === 2)
      expect(letters.map(letter => [letter.key, letter.value.failedAt, letter.value.record.value.amount])).toEqual(
        expect.arrayContaining([
          ['k1', 50, -1],
          ['k0', 50, -2],
          ['k0', 50, -4],
        ]),
      )
      expect(redrive(dlq, { validate: fixed, topic })).toEqual({ landed: 3, failed: 0, parked: 0, skipped: 0 })
      expect(amounts(topic).sort()).toEqual([-1, -2, -3, -4])
    })

    it('over maxAttempts it is parked', () => {
      const { topic, dlq, parked } = withLetters()
      const run = () => redrive(dlq, { validate, topic, parked, maxAttempts: 2 })
      expect(run()).toEqual({ landed: 0, failed: 4, parked: 0, skipped: 0 })
      expect(run()).toEqual({ landed: 0, failed: 0, parked: 4, skipped: 0 })
      expect(run()).toEqual({ landed: 0, failed: 0, parked: 0, skipped: 0 })
      expect(all(parked).map(letter => letter.value.attempts)).toEqual([3, 3, 3, 3])
      expect(
        all(parked)
          .map(letter => letter.key)
          .sort(),
      ).toEqual(['k0', 'k0', 'k1', 'k1'])
    })

    it('without a place to park, nothing is lost', () => {
      const { topic, dlq } = withLetters()
      for (let i = 0; i < 3; i++) expect(redrive(dlq, { validate, topic, maxAttempts: 1 }).failed).toBe(4)
    })

    it('what the filter skips is appended anew, as it is', () => {
      const { topic, dlq } = withLetters()
      const filter = (letter: Letter) => letter.record.key === 'k1'
      expect(redrive(dlq, { validate: fixed, topic, filter })).toEqual({ landed: 2, failed: 0, parked: 0, skipped: 2 })
      expect(amounts(topic)).toEqual([-1, -3])
      expect(redrive(dlq, { validate: fixed, topic })).toEqual({ landed: 2, failed: 0, parked: 0, skipped: 0 })
      expect(amounts(topic).sort()).toEqual([-1, -2, -3, -4])
    })

    it('limit bounds a run', () => {
      const { topic, dlq } = withLetters()
      const landed = [3, 0, 3, 3].map(limit => redrive(dlq, { validate: fixed, topic, limit }).landed)
      expect(landed).toEqual([3, 0, 1, 0])
      expect(amounts(topic).sort()).toEqual([-1, -2, -3, -4])
    })

    it('dryRun reports and changes nothing', () => {
      const { topic, dlq, parked } = withLetters()
      const before = JSON.stringify([all(topic), all(dlq), all(parked)])
      const options = { validate: (r: { value: Order }) => r.value.amount > -2, topic, parked, maxAttempts: 1 }
      const report = redrive(dlq, { ...options, dryRun: true })
      expect(report).toEqual({ landed: 1, failed: 0, parked: 3, skipped: 0 })
      expect(JSON.stringify([all(topic), all(dlq), all(parked)])).toBe(before)
      expect(dlq.committed('redrive', 0) + dlq.committed('redrive', 1)).toBe(0)
      expect(redrive(dlq, options)).toEqual(report)
    })

    it('a call that throws changes nothing, also half-way', () => {
      const { topic, dlq } = withLetters()
      let asked = 0
      const answersLate = (() => (++asked < 3 ? true : Promise.resolve(true))) as never
      const failing = () => {
        if (++asked % 3 === 0) throw new Error('filter')
        return true
      }
      expect(() => redrive(dlq, { validate: answersLate, topic })).toThrow(TypeError)
      expect(() => redrive(dlq, { validate: fixed, topic, filter: failing })).toThrow('filter')
      expect(() => redrive(dlq, { validate: fixed, topic, limit: -1 })).toThrow(/limit/)
      expect(() => redrive(dlq, { validate: fixed, topic, maxAttempts: 0 })).toThrow(/maxAttempts/)
      dlq.join('redrive', 'somebody')
      expect(() => redrive(dlq, { validate: fixed, topic })).toThrow(RangeError)
      dlq.leave('redrive', 'somebody')
      expect([all(topic).length, all(dlq).length]).toEqual([0, 4])
      expect(redrive(dlq, { validate: fixed, topic }).landed).toBe(4)
    })

    it('takes what somebody put into the queue by hand as a record', () => {
      const { topic, dlq } = topics()
      dlq.append('k', { amount: 3 } as never)
      dlq.append('k', null as never)
      expect(redrive(dlq, { validate, topic })).toEqual({ landed: 1, failed: 1, parked: 0, skipped: 0 })
      expect(all(topic)).toEqual([{ partition: partitionFor('k', 2), offset: 0, key: 'k', value: { amount: 3 } }])
    })
  })
})

describe('known answers', () => {
  const assign = (members: string[], partitions: number, assignor?: 'roundrobin') => [
    ...assignPartitions(members, partitions, { assignor }).values(),
  ]

  it('range and round-robin', () => {
    expect(assign(['A', 'B', 'C'], 7)).toEqual([
      [0, 1, 2],
      [3, 4],
      [5, 6],
    ])
    expect(assign(['A', 'B', 'C'], 2)).toEqual([[0], [1], []])
    expect(assign(['A', 'B', 'C'], 7, 'roundrobin')).toEqual([
      [0, 3, 6],
      [1, 4],
      [2, 5],
    ])
  })
})
