/** One temporary directory for all that a run has to write down, removed when the run is over. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let directory: string | undefined

/** A path in the directory of this run. */
export function scratchPath(name: string): string {
  directory ??= mkdtempSync(join(tmpdir(), 'ottla-conformance-'))
  return join(directory, name)
}

export function removeScratch(): void {
  if (directory) rmSync(directory, { recursive: true, force: true })
}
