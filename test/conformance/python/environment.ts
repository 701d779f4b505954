/**
 * The two Pythons of the run: Debian's own with Debian's packages, and a virtual environment with what
 * `requirements.txt` names (made by `setup`, in a folder of the user's cache, so that it is made once).
 */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../child.ts'

/** Not whatever `python3` is on the path: only this one sees Debian's packages. */
export const DEBIAN_PYTHON = '/usr/bin/python3'

/** The Python of the virtual environment, which exists once `setup` was run. */
export const VENV_PYTHON = execFileSync(path('setup'), ['where'], { encoding: 'utf8' }).trim()

export const driver = (file: string): string => path(file)

/** Asks a Python for the version of a package. */
export async function pythonVersion(
  python: string,
  program: string,
  install: string,
): Promise<{ version: string } | { missing: string }> {
  const lines = await runProgram(python, ['-c', program]).catch(() => undefined)
  return lines ? { version: lines[0] } : { missing: `not installed (${install})` }
}

function path(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url))
}
