/**
 * One broker and a cluster have the same members under the same names. Where they differ on purpose it is said here, so that whoever adds one
 * to either thinks of the other.
 */

import { expect, it } from 'vitest'
import { startTestBroker, startTestCluster } from '../../src/testing/index.ts'

/** What only one broker has: a cluster has a host and a port for each of its brokers. */
const OF_BROKERS = ['host', 'port']

/** What takes several brokers, or links between them. */
const OF_CLUSTERS = ['broker', 'brokers', 'link', 'partition', 'heal', 'settled', 'events', 'onEvent', 'timeline']

/** Own members and those of all classes that it is of, without what is for subclasses only. */
function membersOf(object: object): string[] {
  const names = new Set(Object.keys(object))
  for (let type = Object.getPrototypeOf(object); type !== Object.prototype; type = Object.getPrototypeOf(type)) {
    for (const name of Object.getOwnPropertyNames(type)) names.add(name)
  }
  for (const internal of ['constructor', 'methods', 'faultMethods', 'namedFault']) names.delete(internal)
  return [...names].toSorted()
}

it('have the same members, but for those that are named', async () => {
  await using broker = await startTestBroker({ log: false })
  await using cluster = await startTestCluster({ log: false, brokers: 1 })
  const [ofBroker, ofCluster] = [membersOf(broker), membersOf(cluster)]
  expect(ofBroker).toEqual(expect.arrayContaining(['fault', 'hold', 'reset', 'snapshot', 'topic', 'group', 'http']))
  expect(ofBroker.filter(name => !ofCluster.includes(name))).toEqual(OF_BROKERS.toSorted())
  expect(ofCluster.filter(name => !ofBroker.includes(name))).toEqual(OF_CLUSTERS.toSorted())
})

it('have the same members on topics and groups; topics of a cluster say who leads', async () => {
  await using broker = await startTestBroker({ log: false })
  await using cluster = await startTestCluster({ log: false, brokers: 1 })
  expect(membersOf(cluster.group('a'))).toEqual(membersOf(broker.group('a')))
  const [ofBroker, ofCluster] = [membersOf(broker.topic('a')), membersOf(cluster.topic('a'))]
  expect(ofBroker.filter(name => !ofCluster.includes(name))).toEqual([])
  expect(ofCluster.filter(name => !ofBroker.includes(name))).toEqual([
    'elr',
    'isr',
    'leader',
    'leaderEpoch',
    'replicas',
  ])
})

it('make topics by the same call', async () => {
  await using broker = await startTestBroker({ log: false })
  await using cluster = await startTestCluster({ log: false, brokers: 2 })
  for (const kafka of [broker, cluster]) {
    await kafka.createTopic('orders:3')
    await kafka.createTopic({ name: 'events', partitions: 1 })
    const { topics } = await kafka.describe()
    expect(topics.map(({ name, partitions }) => `${name}:${partitions.length}`).toSorted()).toEqual([
      'events:1',
      'orders:3',
    ])
    await expect(kafka.createTopic('a b')).rejects.toMatchObject({ code: 'OTTLA_INVALID_OPTION' })
  }
})
