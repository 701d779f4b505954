import { batchSize, readBatchHeader } from '../records/batch-header.ts'

/**
 * A decoded message as data to look at: what is long is cut short, bytes are told by their number, record batches by what they
 * hold. For the request log, which must not keep what dies with the request.
 */

export type PlainFields = { readonly [name: string]: PlainValue }
export type PlainValue = string | number | boolean | null | undefined | readonly PlainValue[] | PlainFields

const MOST_ITEMS = 50
const MOST_CHARACTERS = 250

export function plainFields(message: object): PlainFields {
  const plain: Record<string, PlainValue> = {}
  for (const [name, value] of Object.entries(message)) plain[name] = plainValue(name, value)
  return plain
}

function plainValue(name: string, value: unknown): PlainValue {
  if (name === 'records') return recordsText(value)
  if (value instanceof Uint8Array) return `<${value.length} bytes>`
  if (Array.isArray(value)) {
    const items = value.slice(0, MOST_ITEMS).map(item => plainValue('', item))
    return value.length > MOST_ITEMS ? [...items, `<${value.length - MOST_ITEMS} more>`] : items
  }
  if (typeof value === 'object' && value !== null) return plainFields(value)
  if (typeof value === 'string' && value.length > MOST_CHARACTERS) return `${value.slice(0, MOST_CHARACTERS)}…`
  if (typeof value === 'bigint') return Number(value)
  return value as PlainValue
}

/** Batches as a request has them, in one piece, or as a log gives them out, in parts of whole batches or not. */
function recordsText(value: unknown): PlainValue {
  if (value === null || value === undefined) return null
  const parts = (Array.isArray(value) ? value : [value]) as Uint8Array[]
  const bytes = parts.reduce((sum, part) => sum + part.length, 0)
  const records = parts.reduce((sum, part) => sum + recordsIn(part), 0)
  return `<${records} records, ${bytes} bytes>`
}

function recordsIn(part: Uint8Array): number {
  let records = 0
  try {
    for (let at = 0; at + 61 <= part.length; at += batchSize(part, at))
      records += readBatchHeader(part, at).recordsCount
  } catch {
    // What a client sent need not be a batch.
  }
  return records
}
