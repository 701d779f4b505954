// What a broker finds again of its logs when it is started on what the one before left, which ended in good order or was killed.

import { describe, expect, it } from 'vitest'
import { deleteRecords } from '../../src/protocol/apis/delete-records.ts'
import { deleteTopics } from '../../src/protocol/apis/delete-topics.ts'
import { produce } from '../../src/protocol/apis/produce.ts'
import { buildBatch } from '../../src/records/batch-builder.ts'
import { readWhole } from '../../src/storage/read-whole.ts'
import { utf8Decode, utf8Encode } from '../../src/util/utf8.ts'
import { VirtualEnv } from '../../src/util/virtual-env.ts'
import { GatedStorage } from '../support/gated-storage.ts'
import { startTestBroker, type TestBroker } from './harness.ts'

class Site {
  readonly env = new VirtualEnv()
  readonly storage = new GatedStorage(this.env.turns)
  topics: { name: string; partitions: number; configs?: Record<string, string> }[] = []
  #running: TestBroker | undefined

  /** Starts a broker; `closed` is what the mark of a good stop says. */
  start(closed = false): TestBroker {
    const { env, storage, topics } = this
    this.#running = startTestBroker({ env, storage, topics })
    this.replicas.directory.foundClosed(closed)
    return this.#running
  }

  get replicas() {
    return (this.#running as TestBroker).cluster.broker(1).replicas
  }

  stop(): void {
    const { cluster } = this.#running as TestBroker
    cluster.shutdown()
    this.env.settle()
    this.replicas.close()
    cluster.metadataLog.close()
    this.env.settle()
  }

  kill(): void {
    ;(this.#running as TestBroker).cluster.broker(1).kill()
    this.env.settle()
  }

  text(path: string): string | undefined {
    const bytes = readWhole(this.storage, path)
    return bytes && utf8Decode(bytes)
  }

  send(partition: number, sequence?: number, topic = 't') {
    const producer = sequence === undefined ? {} : { producerId: 7, producerEpoch: 0, baseSequence: sequence }
    const records = buildBatch({ records: [{ value: utf8Encode('x'), timestamp: this.env.now() }], ...producer })
    const { responses } = (this.#running as TestBroker).connect().call(produce, 11, {
      acks: -1,
      timeoutMs: 1000,
      topicData: [{ name: topic, partitionData: [{ index: partition, records }] }],
    })
    return responses[0].partitionResponses[0]
  }

  log(partition: number, topic = 't') {
    return this.replicas.leader(topic, partition).log
  }
}

function site(topics: Site['topics']): Site {
  const made = new Site()
  made.topics = topics
  return made
}

describe('a broker that is started again', () => {
  it.each(['stop', 'kill'] as const)('after a %s knows where logs begin and end, and who wrote', how => {
    const place = site([{ name: 't', partitions: 3 }])
    const { connect } = place.start()
    for (let sequence = 0; sequence < 8; sequence++) place.send(0, sequence)
    for (let count = 0; count < 3; count++) place.send(1)
    const deleted = connect().send(deleteRecords, 2, {
      timeoutMs: 1000,
      topics: [{ name: 't', partitions: [{ partitionIndex: 0, offset: 2 }] }],
    })
    place.env.settle()
    expect(deleted()?.topics[0].partitions[0]).toMatchObject({ errorCode: 0, lowWatermark: 2 })
    place[how]()
    place.start(how === 'stop')
    expect([place.log(0).logStartOffset, place.log(0).logEndOffset, place.log(0).highWatermark]).toEqual([2, 8, 8])
    expect([place.log(1).logEndOffset, place.log(2).logEndOffset]).toEqual([3, 0])
    // The last five are remembered, whatever became of the process.
    for (const sequence of [3, 7]) expect(place.send(0, sequence)).toMatchObject({ errorCode: 0, baseOffset: sequence })
    expect(place.send(0, 8)).toMatchObject({ errorCode: 0, baseOffset: 8 })
    place.stop()
  })

  it('finds what the one before wrote down: from time to time, and at its end', () => {
    const place = site([{ name: 't', partitions: 2 }])
    place.start()
    const { topicId } = place.replicas.leader('t', 0)
    place.send(0)
    place.send(0)
    place.send(1)
    expect(place.text('recovery-point-offset-checkpoint')).toBeUndefined()
    place.env.advance(5000)
    expect(place.text('replication-offset-checkpoint')).toBe('0\n2\nt 0 2\nt 1 1\n')
    place.env.advance(55_000)
    expect(place.text('recovery-point-offset-checkpoint')).toBe('0\n2\nt 0 2\nt 1 1\n')
    place.send(1)
    place.stop()
    expect(place.text('recovery-point-offset-checkpoint')).toBe('0\n2\nt 0 2\nt 1 2\n')
    expect(place.text('replication-offset-checkpoint')).toBe('0\n2\nt 0 2\nt 1 2\n')
    expect(place.text('t-0/partition.metadata')).toBe(`version: 0\ntopic_id: ${topicId}`)
    expect(place.storage.list('t-0')).toEqual([
      '00000000000000000000.index',
      '00000000000000000000.log',
      '00000000000000000000.timeindex',
      '00000000000000000002.snapshot',
      'leader-epoch-checkpoint',
      'partition.metadata',
    ])
  })

  it('applies retention to logs that nobody asks for, one after the other', () => {
    const place = site([{ name: 't', partitions: 4, configs: { 'retention.ms': '60000' } }])
    place.start()
    for (let partition = 0; partition < 3; partition++) place.send(partition)
    place.stop()
    place.topics = []
    place.start(true)
    const opened = () => [...place.replicas.all()].filter(({ openedLog }) => openedLog !== undefined).length
    place.env.advance(300_000)
    expect(opened()).toBe(0)
    place.env.advance(20)
    expect(opened()).toBe(1)
    place.env.advance(1000)
    // What has no files is not opened either.
    expect(opened()).toBe(3)
    expect([0, 1, 2, 3].map(partition => place.log(partition).logStartOffset)).toEqual([1, 1, 1, 0])
    place.stop()
  })

  it('looks at logs that a crash may have left broken soon, and only then says that it ended well', () => {
    const place = site([{ name: 't', partitions: 2 }])
    place.start()
    place.send(0)
    place.send(1)
    place.kill()
    place.topics = []
    place.storage.open('t-1/00000000000000000000.log').appendv([new Uint8Array(30)])
    place.start()
    expect([...place.replicas.directory.unchecked]).toEqual(['t-0', 't-1'])
    expect(place.replicas.directory.isSound).toBe(false)
    place.env.advance(1100)
    expect(place.replicas.directory.isSound).toBe(true)
    expect(place.env.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { fields: { path: 't-1/00000000000000000000.log', bytes: 30 } },
    ])
    place.stop()
  })

  it('removes the log of a deleted topic, or goes on removing it', () => {
    const place = site([{ name: 't', partitions: 2 }])
    const { connect } = place.start()
    place.send(0)
    place.send(1)
    place.stop()
    const again = place.start(true)
    place.log(0)
    again.connect().call(deleteTopics, 5, { topicNames: ['t'], timeoutMs: 1000 })
    place.env.settle()
    expect(place.storage.list('').filter(name => name.startsWith('t'))).toEqual([])
    expect(connect).toBeDefined()
    place.storage.open('t-9.0123456789abcdef0123456789abcdef-delete/x', { create: true })
    place.stop()
    place.topics = []
    place.start(true)
    expect(place.storage.list('').filter(name => name.startsWith('t'))).toEqual([])
    expect(place.text('recovery-point-offset-checkpoint')).not.toContain('t 0')
  })

  it('sets the log of another topic of the same name aside', () => {
    const place = site([{ name: 't', partitions: 1 }])
    place.start()
    place.send(0)
    place.send(0)
    place.stop()
    place.storage.remove('__cluster_metadata-0')
    place.start(true)
    expect(place.log(0).logEndOffset).toBe(0)
    expect(place.storage.list('').some(name => /^t-0\.[0-9a-f]{32}-stray$/.test(name))).toBe(true)
    expect(place.send(0)).toMatchObject({ errorCode: 0, baseOffset: 0 })
    place.kill()
  })
})
