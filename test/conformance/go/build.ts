/** Builds the program of a Go client, once per run, into the run's own folder. */
import { fileURLToPath } from 'node:url'
import { runProgram } from '../child.ts'
import type { ConformanceClient } from '../client.ts'
import { scratchPath } from '../scratch.ts'

/** Where the program of a folder beside this file is, once it was built. */
export const program = (folder: string): string => scratchPath(`go-${folder}`)

/** Builds the program of a folder; its version is the one of the module in its go.mod. */
export async function build(folder: string, module: string): ReturnType<ConformanceClient['probe']> {
  const [go] = (await runProgram('go', ['version']).catch(() => undefined)) ?? []
  if (!go) return { missing: 'go is not installed (Go 1.26 or newer)' }
  const directory = fileURLToPath(new URL(folder, import.meta.url))
  try {
    // The first build fetches and compiles the modules; after that Go's own cache has them.
    await runProgram('go', ['-C', directory, 'build', '-o', program(folder), '.'], { timeoutMs: 300_000 })
    const [line] = await runProgram('go', ['-C', directory, 'list', '-m', '-f', '{{.Version}}', module])
    return { version: line.replace(/^v/, '') }
  } catch (error) {
    return { missing: `its program does not build with ${go}: ${error}` }
  }
}
