/** What a check of files on a disk comes to. The check changes nothing. */

/**
 * `error`: records are damaged or missing, or will not be served. `warning`: something is wrong that the next start puts right, or that
 * somebody may want to look at. `note`: nothing is wrong, and it is good to know.
 */
type FindingLevel = 'error' | 'warning' | 'note'

export interface Finding {
  readonly level: FindingLevel
  /** Which file or directory, below the root; the root itself is empty. */
  readonly path: string
  /** What is so, in plain words. */
  readonly message: string
}

/** Collects findings about one file or directory. */
export class Findings {
  readonly all: Finding[] = []

  error(path: string, message: string): void {
    this.all.push({ level: 'error', path, message })
  }

  warning(path: string, message: string): void {
    this.all.push({ level: 'warning', path, message })
  }

  note(path: string, message: string): void {
    this.all.push({ level: 'note', path, message })
  }
}
