/**
 * "Did you mean": the known name that is nearest to one that is not known. It is used for everything a caller can
 * misspell: options, configs, limits.
 */
import { closest } from 'fastest-levenshtein'

/** The hint for a name that is none of `known`. */
export function didYouMean(name: string, known: Iterable<string>): string {
  return `did you mean ${closest(name, [...known])}?`
}
