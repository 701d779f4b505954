/** The assertions on the request log, held against logs with one thing wrong each. */
import { describe, expect, it } from 'vitest'
import { checkRequests, countJoins, errorsOf, type RequestRecord } from './request-log.ts'

const client = {
  name: 'test',
  requests: {
    versions: { ApiVersions: [3], Produce: [7], JoinGroup: [5], Heartbeat: [3] },
    connections: { produce: 1, read: 1, member: 2, admin: 1 },
  },
}

function record(api: string, version: number, rest: Partial<RequestRecord> = {}): RequestRecord {
  return { apiKey: 0, api, version, clientId: 'c', connection: 1, errorCodes: [], ...rest }
}

const good = [record('ApiVersions', 3), record('Produce', 7, { codecs: ['gzip'] })]
const check = (log: RequestRecord[], step: Parameters<typeof checkRequests>[3] = { codec: 'gzip' }) =>
  checkRequests(log, client, [{ clientId: 'c', role: 'produce' }], step)

describe('checkRequests', () => {
  it('is content with what a client always does', () => {
    check(good)
  })

  it('wants requests of every process', () => {
    expect(() => check(good.map(each => ({ ...each, clientId: 'other' })))).toThrow(/requests of c/)
  })

  it('sees an older version, and an API that was not expected', () => {
    expect(() => check([...good, record('Produce', 3)])).toThrow(/does not send/)
    expect(() => check([...good, record('EndTxn', 3)])).toThrow(/does not send/)
  })

  it('sees an error that the client swallowed, unless it belongs to the step', () => {
    const log = [...good, record('Produce', 7, { errorCodes: ['NOT_LEADER_OR_FOLLOWER'], codecs: ['gzip'] })]
    expect(() => check(log)).toThrow(/swallowed/)
    check(log, { allowedErrors: ['Produce NOT_LEADER_OR_FOLLOWER'] })
    check([...good, record('Heartbeat', 3, { errorCodes: ['REBALANCE_IN_PROGRESS'] })])
    expect(() => check([...good, record('Heartbeat', 3, { errorCodes: ['UNKNOWN_MEMBER_ID'] })])).toThrow(/swallowed/)
  })

  it('sees a second connection where one is enough', () => {
    expect(() => check([...good, record('ApiVersions', 3, { connection: 2 })])).toThrow(/connections of c/)
  })

  it('sees a member that joins a second time though nobody came or went', () => {
    const log = [...good, record('JoinGroup', 5), record('JoinGroup', 5)]
    expect(() => check(log)).toThrow(/joins of c/)
    check(log, { rebalances: true })
  })

  it('lets a step provoke a request of its own, and lose a connection', () => {
    const log = [...good, record('Fetch', 12, { connection: 2 })]
    expect(() => check(log, { reconnects: true })).toThrow(/does not send/)
    expect(() => check(log, { otherRequests: ['Fetch v12'] })).toThrow(/connections of c/)
    check(log, { otherRequests: ['Fetch v12'], reconnects: true })
  })

  it('sees a batch with another codec', () => {
    expect(() => check([...good, record('Produce', 7, { codecs: ['none'] })])).toThrow(/codecs/)
  })
})

describe('countJoins', () => {
  it('counts the joins that let the member in', () => {
    const refused = record('JoinGroup', 5, { errorCodes: ['MEMBER_ID_REQUIRED'] })
    expect(countJoins([refused, record('JoinGroup', 5), record('JoinGroup', 5)], 'c')).toBe(2)
    expect(countJoins([refused, record('JoinGroup', 5), record('JoinGroup', 5, { clientId: 'd' })], 'c')).toBe(1)
  })
})

describe('errorsOf', () => {
  it('names each error of one client once', () => {
    const failed = record('Fetch', 12, { errorCodes: ['UNKNOWN_TOPIC_ID', 'UNKNOWN_TOPIC_ID'] })
    const other = record('Fetch', 12, { clientId: 'd', errorCodes: ['OFFSET_OUT_OF_RANGE'] })
    expect(errorsOf([...good, failed, failed, other], 'c')).toEqual(['Fetch UNKNOWN_TOPIC_ID'])
  })
})
