/**
 * "Did you mean": the known name that is nearest to one that is not known. It is used for everything a caller can
 * misspell: options, configs, limits.
 */
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** The hint for a name that is none of `known`. */
export function didYouMean(name: string, known: Iterable<string>): string {
  // Loaded when something is misspelt: a broker that starts has no time for it.
  const { closest } = require('fastest-levenshtein') as typeof import('fastest-levenshtein')
  return `did you mean ${closest(name, [...known])}?`
}
