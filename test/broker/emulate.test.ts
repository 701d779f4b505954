import { describe, expect, it } from 'vitest'
import { HANDLERS } from '../../src/broker/apis/index.ts'
import { type EmulatedRelease, RELEASES } from '../../src/broker/emulate/releases.ts'
import { apiVersions } from '../../src/protocol/apis/api-versions.ts'
import { describeTopicPartitions } from '../../src/protocol/apis/describe-topic-partitions.ts'
import { fetch } from '../../src/protocol/apis/fetch.ts'
import { metadata } from '../../src/protocol/apis/metadata.ts'
import { offsetFetch } from '../../src/protocol/apis/offset-fetch.ts'
import { produce } from '../../src/protocol/apis/produce.ts'
import type { Api } from '../../src/protocol/dsl.ts'
import { ERROR_CODES } from '../../src/protocol/errors.ts'
import { startTestBroker } from './harness.ts'

/** What clients are told and served where an earlier Kafka is emulated. That the data is right, test/conformance/releases knows. */

const SOFTWARE = { clientSoftwareName: 'test', clientSoftwareVersion: '1' }
const releases = Object.keys(RELEASES) as EmulatedRelease[]

function start(emulates: EmulatedRelease | undefined) {
  return startTestBroker({ emulates, topics: [{ name: 'orders' }] })
}

/** The ranges that a client is told, by API key. */
function rangesOf(emulates: EmulatedRelease | undefined, version = 0): Map<number, [number, number]> {
  const { apiKeys } = start(emulates).connect().call(apiVersions, version, SOFTWARE)
  return new Map(apiKeys.map(({ apiKey, minVersion, maxVersion }) => [apiKey, [minVersion, maxVersion]]))
}

/** What becomes of a request that says it has this version: the bytes behind the header do not matter any more. */
function isClosed(emulates: EmulatedRelease, apiKey: number, version: number): boolean {
  const client = start(emulates).connect()
  client.raw(header(apiKey, version))
  return client.closed
}

/** A frame with the header alone: correlation id 0, no client id. */
function header(apiKey: number, version: number): Uint8Array {
  const frame = new Uint8Array(4 + 10)
  const view = new DataView(frame.buffer)
  view.setInt32(0, 10)
  view.setInt16(4, apiKey)
  view.setInt16(6, version)
  view.setInt16(12, -1)
  return frame
}

describe('the ranges that are told', () => {
  // Literally, so that a mistake in cutting shows: what both the release and Ottla serve.
  it.each<[EmulatedRelease, Record<string, [number, number] | undefined>]>([
    ['2.8', { Produce: [0, 9], Fetch: [4, 12], Metadata: [0, 11], ApiVersions: [0, 3], OffsetFetch: [1, 7] }],
    ['3.6', { Produce: [0, 9], Fetch: [4, 15], Metadata: [0, 12], ApiVersions: [0, 3], OffsetFetch: [1, 8] }],
    ['3.9', { Produce: [0, 11], Fetch: [4, 17], Metadata: [0, 12], ApiVersions: [0, 4], OffsetFetch: [1, 9] }],
    ['4.0', { Produce: [0, 12], Fetch: [4, 17], Metadata: [0, 13], ApiVersions: [0, 4], OffsetFetch: [1, 9] }],
  ])('of %s are %j', (release, expected) => {
    const ranges = rangesOf(release)
    const apis = [produce, fetch, metadata, apiVersions, offsetFetch]
    expect(Object.fromEntries(apis.map(api => [api.name, ranges.get(api.key)]))).toEqual(expected)
  })

  it.each(releases)('of %s are every API that it has in a version that Ottla serves, and no other', release => {
    const own = rangesOf(undefined)
    const expected = new Map<number, [number, number]>()
    for (const { key, versions } of RELEASES[release].apis) {
      const served = own.get(key)
      if (served === undefined || versions[0] > served[1] || versions[1] < served[0]) continue
      expected.set(key, [Math.max(versions[0], served[0]), Math.min(versions[1], served[1])])
    }
    expect(expected.size).toBeGreaterThan(30)
    for (let version = 0; version <= (expected.get(apiVersions.key)?.[1] as number); version++) {
      expect(rangesOf(release, version), `asked in version ${version}`).toEqual(expected)
    }
  })

  it('are all that is served where nothing is emulated', () => {
    const listed = HANDLERS.filter(({ listed }) => listed)
    expect(rangesOf(undefined)).toEqual(
      new Map(listed.map(({ api, advertisedMin }) => [api.key, [advertisedMin, api.versions[1]]])),
    )
  })

  it('leave out what came later: an API of 3.7 in 3.6', () => {
    expect(rangesOf('3.6').has(describeTopicPartitions.key)).toBe(false)
    expect(rangesOf('3.9').has(describeTopicPartitions.key)).toBe(true)
  })
})

describe('features', () => {
  const featuresOf = (release: EmulatedRelease, version: number) => {
    const { supportedFeatures, finalizedFeatures, finalizedFeaturesEpoch, zkMigrationReady } = start(release)
      .connect()
      .call(apiVersions, version, SOFTWARE)
    return { supportedFeatures, finalizedFeatures, finalizedFeaturesEpoch, zkMigrationReady }
  }

  // As 3.6.2, 3.9.2 and 4.0.2 answer, with the features that Ottla serves; group.version and transaction.version are none.
  it.each<[EmulatedRelease, number, [number, number], number]>([
    ['3.6', 3, [1, 14], 14],
    ['3.9', 3, [1, 21], 21],
    ['3.9', 4, [1, 21], 21],
    ['4.0', 4, [7, 25], 25],
  ])('of %s in version %i: metadata.version alone', (release, version, [minVersion, maxVersion], level) => {
    const name = 'metadata.version'
    expect(featuresOf(release, version)).toEqual({
      supportedFeatures: [{ name, minVersion, maxVersion }],
      finalizedFeatures: [{ name, maxVersionLevel: level, minVersionLevel: level }],
      finalizedFeaturesEpoch: 0,
      zkMigrationReady: false,
    })
  })

  it('of 2.8 are none, and their epoch 0', () => {
    expect(featuresOf('2.8', 3)).toEqual({
      supportedFeatures: [],
      finalizedFeatures: [],
      finalizedFeaturesEpoch: 0,
      zkMigrationReady: false,
    })
  })
})

describe('a version that is not told', () => {
  it.each(releases)('of ApiVersions is answered in version 0, with its range: %s', release => {
    const [min, max] = rangesOf(release).get(apiVersions.key) as [number, number]
    for (const version of [max + 1, apiVersions.versions[1], 99]) {
      const client = start(release).connect()
      client.raw(header(apiVersions.key, version))
      expect(client.read(apiVersions, 0, 0)).toMatchObject({
        errorCode: ERROR_CODES.UNSUPPORTED_VERSION,
        apiKeys: [{ apiKey: apiVersions.key, minVersion: min, maxVersion: max }],
      })
      expect(client.closed).toBe(false)
      expect(client.call(apiVersions, max, SOFTWARE).errorCode).toBe(0)
    }
  })

  it.each<[string, EmulatedRelease, Api['name'], number, number]>([
    ['too new for the release', '2.8', 'Fetch', fetch.key, 13],
    ['too new for the release', '3.9', 'Produce', produce.key, 12],
    ['of an API that came later', '3.6', 'DescribeTopicPartitions', describeTopicPartitions.key, 0],
    ['that Kafka 4.0 took away (KIP-896), though the release has it', '2.8', 'Fetch', fetch.key, 3],
    ['that Kafka 4.0 took away, though it is told', '3.9', 'Produce', produce.key, 2],
  ])('closes the connection: %s: %s, %s', (_, release, _name, key, version) => {
    expect(isClosed(release, key, version)).toBe(true)
  })

  it('is next to one that is answered', () => {
    const broker = start('2.8')
    const client = broker.connect()
    const topics = [{ topic: 'orders', partitions: [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1e6 }] }]
    const fetched = client.call(fetch, 12, { maxWaitMs: 0, minBytes: 0, topics })
    expect(fetched.responses).toMatchObject([{ topic: 'orders', partitions: [{ errorCode: 0 }] }])
    expect(client.closed).toBe(false)
  })
})
