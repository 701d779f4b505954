import { describe, expect, it } from 'vitest'
import { ERROR_CODES, type ErrorName, errorName, isRetriable, KafkaError } from './errors.ts'

describe('errors', () => {
  it('have the codes -1 to 136, each once, and names that come back', () => {
    const codes = Object.values(ERROR_CODES)
    expect([...codes].sort((a, b) => a - b)).toEqual(Array.from({ length: 138 }, (_, index) => index - 1))
    for (const [name, code] of Object.entries(ERROR_CODES)) expect(errorName(code)).toBe(name)
  })

  it('that are not known read as UNKNOWN_SERVER_ERROR', () => {
    expect(errorName(137)).toBe('UNKNOWN_SERVER_ERROR')
    expect(errorName(-2)).toBe('UNKNOWN_SERVER_ERROR')
  })

  it.each<[ErrorName, number, boolean]>([
    ['NONE', 0, false],
    ['OFFSET_OUT_OF_RANGE', 1, false],
    ['NOT_LEADER_OR_FOLLOWER', 6, true],
    ['COORDINATOR_LOAD_IN_PROGRESS', 14, true],
    ['ILLEGAL_GENERATION', 22, false],
    ['REBALANCE_IN_PROGRESS', 27, false],
    ['TOPIC_ALREADY_EXISTS', 36, false],
    ['OUT_OF_ORDER_SEQUENCE_NUMBER', 45, false],
    ['FETCH_SESSION_ID_NOT_FOUND', 70, true],
    ['MEMBER_ID_REQUIRED', 79, false],
    ['UNKNOWN_TOPIC_ID', 100, true],
    ['FENCED_MEMBER_EPOCH', 110, false],
  ])('%s has code %d, retriable: %s', (name, code, retriable) => {
    const error = new KafkaError(name)
    expect([error.error, error.code, error.retriable, error.message]).toEqual([name, code, retriable, name])
    expect(isRetriable(name)).toBe(retriable)
  })

  it('may carry a message of their own', () => {
    const error = new KafkaError('INVALID_CONFIG', 'no such config')
    expect(error).toBeInstanceOf(Error)
    expect(error.message).toBe('no such config')
    expect(error.code).toBe(40)
  })
})
