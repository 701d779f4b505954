import { describe, expect, it } from 'vitest'
import type { OttlaError } from './errors.ts'
import { type BrokerOptions, checkOptions, formatAddress } from './options.ts'

function refusal(options: object): string {
  try {
    checkOptions(options as BrokerOptions)
  } catch (error) {
    const { code, message, hint } = error as OttlaError
    return [code, message, hint].join(' | ')
  }
  return 'taken'
}

describe('checkOptions', () => {
  it('has defaults for everything', () => {
    expect(checkOptions({})).toMatchObject({
      port: 0,
      host: '127.0.0.1',
      advertised: { host: '127.0.0.1', port: undefined },
      topics: [],
      configs: { 'group.initial.rebalance.delay.ms': '0' },
    })
  })

  it('reads topics from strings and objects', () => {
    const { topics } = checkOptions({
      topics: ['a', 'b:12', { name: 'c', partitions: 3, configs: { 'retention.ms': 1000, preallocate: true } }],
    })
    expect(topics).toEqual([
      { name: 'a' },
      { name: 'b', partitions: 12 },
      { name: 'c', partitions: 3, configs: { 'retention.ms': '1000', preallocate: 'true' } },
    ])
  })

  it('takes config values as text, numbers and booleans; what is given stands over the default', () => {
    const { configs } = checkOptions({
      configs: { 'group.initial.rebalance.delay.ms': 5, 'auto.create.topics.enable': false, 'broker.rack': 'r1' },
    })
    expect(configs).toEqual({
      'group.initial.rebalance.delay.ms': '5',
      'auto.create.topics.enable': 'false',
      'broker.rack': 'r1',
    })
  })

  it.each([
    ['example.org:9092', { host: 'example.org', port: 9092 }],
    ['example.org', { host: 'example.org', port: undefined }],
    ['[::1]:9092', { host: '::1', port: 9092 }],
  ])('reads the advertised address %s', (advertised, expected) => {
    expect(checkOptions({ advertised }).advertised).toEqual(expected)
  })

  it('advertises the loopback address when it listens on all', () => {
    expect(checkOptions({ host: '0.0.0.0' }).advertised.host).toBe('127.0.0.1')
    expect(checkOptions({ host: '::' }).advertised.host).toBe('::1')
  })

  it('turns flush into the config that it stands for, which a config given by name overrules', () => {
    const flushOf = (options: BrokerOptions) => checkOptions(options).configs['log.flush.interval.messages']
    expect(flushOf({ dataDir: 'data', flush: 'commit' })).toBe('1')
    expect(flushOf({ dataDir: 'data', flush: 'commit', configs: { 'log.flush.interval.messages': 5 } })).toBe('5')
    expect(flushOf({ dataDir: 'data', flush: 'os' })).toBeUndefined()
    expect(flushOf({ dataDir: 'data' })).toBeUndefined()
  })

  it.each([
    [{ dataDir: '' }, 'OTTLA_INVALID_OPTION | not a directory:  | name one for the data'],
    [{ dataDir: 'data', time: 'virtual' }, 'OTTLA_INVALID_OPTION | a data directory goes by the real time |'],
    [{ dataDir: 'data', flush: 'always' }, "OTTLA_INVALID_OPTION | flush cannot be always | it is 'os' or 'commit'"],
    [{ flush: 'commit' }, 'OTTLA_INVALID_OPTION | flush needs a dataDir |'],
    [{ ports: 1 }, 'OTTLA_INVALID_OPTION | unknown option ports | did you mean port?'],
    [{ port: 70_000 }, 'OTTLA_INVALID_OPTION | not a port: 70000 |'],
    [{ port: '9092' }, 'OTTLA_INVALID_OPTION | not a port: 9092 |'],
    [{ host: '' }, 'OTTLA_INVALID_OPTION | the host is empty |'],
    [{ advertised: 'a:b:c' }, 'OTTLA_INVALID_OPTION | not an address: a:b:c |'],
    [{ advertised: 'a:99999' }, 'OTTLA_INVALID_OPTION | not a port of the advertised address: 99999 |'],
    [{ topics: ['a b'] }, 'OTTLA_INVALID_OPTION | not a topic name: a b |'],
    [{ topics: ['..'] }, 'OTTLA_INVALID_OPTION | not a topic name: .. |'],
    [{ topics: ['a:x'] }, 'OTTLA_INVALID_OPTION | not a topic with its number of partitions: a:x |'],
    [{ topics: ['a:0'] }, 'OTTLA_INVALID_OPTION | topic a cannot have 0 partitions |'],
    [{ topics: ['a', 'a:2'] }, 'OTTLA_INVALID_OPTION | topic a is declared twice |'],
    [
      { configs: { 'num.partition': 3 } },
      'OTTLA_UNKNOWN_CONFIG | unknown broker config num.partition | did you mean num.partitions?',
    ],
    [
      { topics: [{ name: 'a', configs: { 'retention.msec': 1 } }] },
      'OTTLA_UNKNOWN_CONFIG | unknown topic config retention.msec | did you mean retention.ms?',
    ],
    [
      { configs: { 'num.partitions': 'many' } },
      'OTTLA_INVALID_CONFIG | Invalid value many for configuration num.partitions',
    ],
    [{ limits: { memory: 1 } }, 'OTTLA_INVALID_OPTION | unknown limit memory | did you mean memoryBytes?'],
    [{ limits: { memoryBytes: -1 } }, 'OTTLA_INVALID_OPTION | limit memoryBytes cannot be -1'],
    [{ emulate: '3.8' }, 'OTTLA_INVALID_OPTION | there is no Kafka 3.8 to emulate | it is one of 2.8, 3.6, 3.9, 4.0'],
    [
      { logLevel: 'loud' },
      'OTTLA_INVALID_OPTION | unknown log level loud | it is one of trace, debug, info, warn, error',
    ],
  ])('refuses %j', (options, expected) => {
    expect(refusal(options)).toContain(expected)
  })
})

describe('formatAddress', () => {
  it('puts IPv6 addresses in brackets', () => {
    expect(formatAddress('::1', 9092)).toBe('[::1]:9092')
    expect(formatAddress('localhost', 9092)).toBe('localhost:9092')
  })
})
