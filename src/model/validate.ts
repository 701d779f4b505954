// Asking whether a record is valid, whatever the validator is made of: a function, or a schema of any library that follows Standard Schema
// (zod, valibot, arktype). The answer is a reason, or none. A validator that throws says no; one that answers later is a mistake.

import { checkType, show } from './check.ts'
import { isBytes } from './partitioner.ts'

/** A record as `ingest` takes it. */
export interface IngestRecord<K = string, V = unknown> {
  key: K | null
  value: V
}

/** The part of the Standard Schema specification that is needed here. */
export interface StandardSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => unknown
  }
}

/**
 * A function is shown the whole record and returns whether it is valid, or throws; the message is the reason. A schema describes the
 * record's *value*. It only judges: what it makes of the value (defaults, conversions) is not used.
 */
export type Validate<K = string, V = unknown> = ((record: IngestRecord<K, V>) => boolean) | StandardSchema

/**
 * Why the record is invalid, or `undefined` if it is valid.
 *
 * @throws TypeError if `validate` is no validator, or answers with a promise
 */
export function reasonAgainst<K, V>(record: IngestRecord<K, V>, validate: Validate<K, V>): string | undefined {
  if (typeof record !== 'object' || record === null) return 'it is no record'
  if (!isKey(record.key)) return 'the key is neither null, a string nor bytes'
  const schema = (validate as StandardSchema | undefined)?.['~standard']
  const isSchema = typeof schema?.validate === 'function'
  checkType(isSchema || typeof validate === 'function', 'validate', 'a function or a Standard Schema', validate)
  let answer: unknown
  try {
    answer = isSchema ? schema.validate(record.value) : (validate as (record: IngestRecord<K, V>) => unknown)(record)
  } catch (error) {
    return messageOf(error)
  }
  // Nobody will look at a promise: its failure must not end the process.
  if (isThenable(answer)) answer.then(undefined, () => undefined)
  checkType(!isThenable(answer), 'validate', 'synchronous', validate)
  return isSchema ? reasonOfIssues(answer) : reasonOfAnswer(answer)
}

/** Whether a topic takes it as a key; a record without a key has `null`. */
export function isKey(key: unknown): boolean {
  return key === null || typeof key === 'string' || isBytes(key)
}

/** Only `true` is yes: a validator that forgot to answer has not said that the record is valid. */
function reasonOfAnswer(answer: unknown): string | undefined {
  if (answer === true) return undefined
  return `the validator said ${show(answer)}`
}

interface Issue {
  message: string
  path?: readonly (PropertyKey | { key: PropertyKey })[]
}

function reasonOfIssues(result: unknown): string | undefined {
  const issues = (result as { issues?: readonly Issue[] } | undefined)?.issues
  if (issues === undefined) return undefined
  const reasons = issues.map(({ message, path = [] }) => {
    const where = path.map(step => String(typeof step === 'object' ? step.key : step)).join('.')
    return where === '' ? message : `${where}: ${message}`
  })
  return reasons.join('; ') || 'the schema said no'
}

/** What was thrown, in words; anything can be thrown, also what cannot be made a string. */
function messageOf(error: unknown): string {
  try {
    const message = (error as { message?: unknown } | undefined)?.message
    return typeof message === 'string' && message !== '' ? message : String(error)
  } catch {
    return 'the validator threw'
  }
}

function isThenable(value: unknown): value is { then(done: undefined, failed: () => undefined): unknown } {
  const mayHaveThen = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return mayHaveThen && typeof (value as { then?: unknown }).then === 'function'
}
