/**
 * What is named more than once in a list that a client sent, found in one pass: such lists may have a million entries, and
 * whoever looks through the rest of the list for each of them blocks everybody else for minutes.
 */

/** The values that stand in `values` more than once. */
export function repeated<T>(values: Iterable<T>): Set<T> {
  const seen = new Set<T>()
  const twice = new Set<T>()
  for (const value of values) {
    if (seen.has(value)) twice.add(value)
    else seen.add(value)
  }
  return twice
}
