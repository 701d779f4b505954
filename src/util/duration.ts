/**
 * Spans of time as people write them: `7d`, `1h30m`, `250ms`. Not here: dates, months and years, which have no fixed length.
 */

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Milliseconds of a span, given as such or as text; undefined for what is none. */
export function parseDuration(span: number | string): number | undefined {
  if (typeof span === 'number') return Number.isFinite(span) && span >= 0 ? span : undefined
  if (!/^(\s*\d+(\.\d+)?\s*(ms|[smhdw]))+\s*$/.test(span)) return undefined
  let sum = 0
  for (const [, count, unit] of span.matchAll(/(\d+(?:\.\d+)?)\s*(ms|[smhdw])/g)) sum += Number(count) * UNITS[unit]
  return sum
}
