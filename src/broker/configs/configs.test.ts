import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { brokerConfigDoc, idleConfigs, topicConfigDoc } from './acted-on.ts'
import { BROKER_DEFINITIONS, BrokerConfig, checkBrokerConfigs } from './broker-config.ts'
import { toNumber } from './config-definition.ts'
import { describeBrokerConfigs, describeTopicConfigs } from './describe.ts'
import { checkTopicConfig, SYNONYMS, TOPIC_DEFINITIONS, TopicConfig } from './topic-config.ts'

describe('checks as Kafka makes them', () => {
  it.each([
    ['retention.ms', 'often', 'Invalid value often for configuration retention.ms: Not a number of type LONG'],
    ['retention.ms', '-2', 'Invalid value -2 for configuration retention.ms: Value must be at least -1'],
    [
      'cleanup.policy',
      'shred',
      'Invalid value shred for configuration cleanup.policy: String must be one of: compact, delete',
    ],
    [
      'max.message.bytes',
      '2147483648',
      'Invalid value 2147483648 for configuration max.message.bytes: Not a number of type INT',
    ],
    [
      'preallocate',
      'yes',
      'Invalid value yes for configuration preallocate: Expected value to be either true or false',
    ],
    [
      'compression.gzip.level',
      '0',
      'Invalid value 0 for configuration compression.gzip.level: Value must be at least 1',
    ],
    [
      'min.cleanable.dirty.ratio',
      '1.5',
      'Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1',
    ],
    ['no.such.config', '1', 'Unknown topic config name: no.such.config'],
  ])('%s=%s', (name, value, problem) => {
    expect(checkTopicConfig(name, value)).toBe(problem)
  })

  it.each([
    ['retention.ms', '-1'],
    ['cleanup.policy', 'compact,delete'],
    ['cleanup.policy', ' delete '],
    ['preallocate', 'TRUE'],
    ['compression.gzip.level', '-1'],
    ['flush.ms', '9223372036854775807'],
    ['min.cleanable.dirty.ratio', '0.25'],
  ])('%s=%s is fine', (name, value) => {
    expect(checkTopicConfig(name, value)).toBeUndefined()
  })

  it('finds nothing wrong with any default', () => {
    for (const definitions of [TOPIC_DEFINITIONS, BROKER_DEFINITIONS]) {
      for (const { defaultValue, check } of definitions.values()) {
        if (defaultValue !== null && defaultValue !== '') expect(check(defaultValue)).toBeUndefined()
      }
    }
  })

  it('names each broker config that is wrong', () => {
    expect(checkBrokerConfigs({ 'num.partitions': '0', 'num.partition': '1' })).toHaveLength(2)
  })
})

describe('which value holds', () => {
  it('dynamic before static before default', () => {
    const config = new BrokerConfig({ 'num.partitions': '3' })
    expect(config.number('num.partitions')).toBe(3)
    config.setDynamic(new Map(), new Map([['num.partitions', '4']]))
    expect(config.number('num.partitions')).toBe(4)
    config.setDynamic(new Map([['num.partitions', '5']]), new Map([['num.partitions', '4']]))
    expect(config.number('num.partitions')).toBe(5)
    expect(config.synonyms('num.partitions').map(({ source, value }) => [source, value])).toEqual([
      [2, '5'],
      [3, '4'],
      [4, '3'],
      [5, '1'],
    ])
  })

  it('the topic before the synonym of the broker, in the right unit', () => {
    const broker = new BrokerConfig({ 'log.retention.hours': '2', 'log.segment.bytes': '2000000' })
    const topic = new TopicConfig(new Map([['segment.bytes', '3000000']]), broker)
    expect(topic.number('retention.ms')).toBe(7_200_000)
    expect(topic.number('segment.bytes')).toBe(3_000_000)
    expect(new TopicConfig(new Map(), new BrokerConfig({ 'log.retention.ms': '5' })).number('retention.ms')).toBe(5)
    expect(new TopicConfig(new Map(), new BrokerConfig({ 'log.retention.hours': '-1' })).number('retention.ms')).toBe(
      -1,
    )
  })

  it('reads what does not fit a number as no limit', () => {
    expect(toNumber('9223372036854775807')).toBe(Number.MAX_SAFE_INTEGER)
  })
})

describe('what is told of them', () => {
  it('hides passwords, and says what is read only', () => {
    const config = new BrokerConfig({ 'ssl.keystore.password': 'secret' })
    const described = describeBrokerConfigs(config, { includeSynonyms: true }, { onlyDynamicDefaults: false })
    const password = described.find(({ name }) => name === 'ssl.keystore.password')
    expect(password).toMatchObject({ value: null, isSensitive: true })
    expect(JSON.stringify(password)).not.toContain('secret')
    expect(described.find(({ name }) => name === 'node.id')?.readOnly).toBe(true)
    expect(described.find(({ name }) => name === 'log.cleaner.threads')?.readOnly).toBe(false)
  })

  it('documents them when asked', () => {
    const [first] = describeTopicConfigs(new TopicConfig(new Map(), new BrokerConfig({})), {
      includeSynonyms: false,
      includeDocumentation: true,
    })
    expect(first).toMatchObject({ name: 'cleanup.policy', configType: 7 })
    expect(first.documentation).toContain('delete')
  })
})

/** The configs that the sources of a folder ask for by name. */
function askedFor(folder: URL): string[] {
  const names: string[] = []
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const url = new URL(`${entry.name}${entry.isDirectory() ? '/' : ''}`, folder)
    if (entry.isDirectory()) names.push(...askedFor(url))
    else if (/\.ts$/.test(entry.name) && !/\.test\.ts$/.test(entry.name)) {
      const calls = readFileSync(url, 'utf8').matchAll(/\.(?:number|boolean|list|text)\('([a-z.]+\.[a-z.]+)'\)/g)
      for (const [, name] of calls) names.push(name)
    }
  }
  return names
}

it('knows what is acted on: exactly what the code asks for', () => {
  const asked = new Set(askedFor(new URL('../../', import.meta.url)))
  expect(asked.size).toBeGreaterThan(30)
  const undocumented = [...asked].filter(
    name => topicConfigDoc(name) === undefined && brokerConfigDoc(name) === undefined,
  )
  expect(undocumented).toEqual([])
  const { topic, broker } = idleConfigs()
  expect([...topic, ...broker].filter(name => asked.has(name))).toEqual([])
  // A broker config is also asked for where it is the default of one of a topic.
  const isAsked = (name: string) =>
    asked.has(name) || Object.entries(SYNONYMS).some(([of, by]) => asked.has(of) && by.some(([each]) => each === name))
  const acted = [...TOPIC_DEFINITIONS.keys()].filter(name => !topic.includes(name))
  acted.push(...[...BROKER_DEFINITIONS.keys()].filter(name => !broker.includes(name)))
  // Whoever starts a broker gives it its id.
  expect(acted.filter(name => !isAsked(name))).toEqual(['broker.id', 'node.id'])
})
