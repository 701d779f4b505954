/**
 * Matchers for `expect.extend` of vitest and jest. Each waits until what is expected is so, and fails with what there is instead.
 */
import { OttlaError } from '../node/errors.ts'
import { TestGroup } from './test-group.ts'
import { type TestRecord, TestTopic } from './test-topic.ts'

/** What both runners give their matchers. */
interface MatcherContext {
  equals(a: unknown, b: unknown): boolean
}

interface MatcherResult {
  pass: boolean
  message(): string
}

interface WaitOptions {
  timeoutMs?: number
}

/**
 * The types of the matchers, to be made known to the runner.
 *
 * @example
 * declare module 'vitest' {
 *   interface Matchers<T> extends OttlaMatchers {}
 * }
 *
 * @example
 * // jest
 * declare module 'expect' {
 *   interface Matchers<R extends void | Promise<void>, T> extends OttlaMatchers {}
 * }
 */
export interface OttlaMatchers<R = Promise<void>> {
  /** Of a topic: exactly so many records, or exactly these: fields that are named, or values alone. In their order. */
  toHaveRecords(expected: number | readonly unknown[], options?: WaitOptions): R
  /** Of a group: exactly this lag, over its topics or in one. */
  toHaveLag(expected: number, options?: WaitOptions & { topic?: string }): R
  /** Of a group: every member has its assignment. */
  toBeStable(options?: WaitOptions & { members?: number }): R
}

/** Without an own timeout, matchers give up before runners do, which wait five seconds by default. */
const TIMEOUT_MS = 4000

/**
 * @example
 * expect.extend(matchers)
 * await expect(broker.topic('orders')).toHaveRecords(['one book', 'two books'])
 * await expect(broker.group('billing')).toBeStable({ members: 2 })
 */
export const matchers = { toHaveRecords, toHaveLag, toBeStable }

async function toHaveRecords(
  this: MatcherContext,
  topic: unknown,
  expected: number | readonly unknown[],
  options: WaitOptions = {},
): Promise<MatcherResult> {
  if (!(topic instanceof TestTopic)) throw new TypeError('toHaveRecords is for broker.topic(…)')
  const count = typeof expected === 'number' ? expected : expected.length
  const found = await topic.records({ count, timeoutMs: options.timeoutMs ?? TIMEOUT_MS }).catch(async error => {
    if (!isTimeout(error)) throw error
    return topic.records()
  })
  const same = (record: TestRecord<unknown, unknown>, wanted: unknown) => this.equals(asWanted(record, wanted), wanted)
  const pass =
    found.length === count &&
    (typeof expected === 'number' || found.every((record, index) => same(record, expected[index])))
  const wanted = typeof expected === 'number' ? `${expected} records` : show(expected)
  const seen = show(found.map((record, index) => asWanted(record, typeof expected === 'number' ? '' : expected[index])))
  return {
    pass,
    message: () => `topic ${topic.name} ${pass ? 'should not have' : 'should have'} ${wanted}, and has ${seen}`,
  }
}

/** A record as far as it was asked about: fields by their names, or its value. */
function asWanted(record: TestRecord<unknown, unknown>, wanted: unknown): unknown {
  const names = typeof wanted === 'object' && wanted !== null ? Object.keys(wanted) : []
  const isRecord = names.length > 0 && names.every(name => name in record)
  if (!isRecord) return record.value
  return Object.fromEntries(names.map(name => [name, record[name as keyof typeof record]]))
}

async function toHaveLag(
  this: MatcherContext,
  group: unknown,
  expected: number,
  options: WaitOptions & { topic?: string } = {},
): Promise<MatcherResult> {
  if (!(group instanceof TestGroup)) throw new TypeError('toHaveLag is for broker.group(…)')
  const end = performance.now() + (options.timeoutMs ?? TIMEOUT_MS)
  let lag = await group.lag(options)
  // It may go either way, so it is looked at again and again.
  while (lag !== expected && performance.now() < end) {
    await new Promise(resolve => setTimeout(resolve, 10))
    lag = await group.lag(options)
  }
  const pass = lag === expected
  return {
    pass,
    message: () => `group ${group.groupId} should ${pass ? 'not ' : ''}have a lag of ${expected}, and has ${lag}`,
  }
}

async function toBeStable(
  this: MatcherContext,
  group: unknown,
  { members, timeoutMs = TIMEOUT_MS }: WaitOptions & { members?: number } = {},
): Promise<MatcherResult> {
  if (!(group instanceof TestGroup)) throw new TypeError('toBeStable is for broker.group(…)')
  try {
    await group.stable({ members, timeoutMs })
    return { pass: true, message: () => `group ${group.groupId} should not be stable` }
  } catch (error) {
    if (!isTimeout(error)) throw error
    return { pass: false, message: () => error.message }
  }
}

function isTimeout(error: unknown): error is OttlaError {
  return error instanceof OttlaError && error.code === 'OTTLA_TIMEOUT'
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, member) => (member instanceof Uint8Array ? `<${member.length} bytes>` : member))
}
