/**
 * Runs test/twin/command.ts, bundled since Node 20 reads no TypeScript: `twin.mjs record HOST:PORT FILE…` and
 * `twin.mjs check HOST:PORT [FILE…]`.
 */
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

// Beside the source, so that the scenario files and the packages that the bundle imports are found from there.
const outfile = fileURLToPath(new URL(`../test/twin/.command-${process.pid}.mjs`, import.meta.url))
await build({
  entryPoints: [fileURLToPath(new URL('../test/twin/command.ts', import.meta.url))],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
})
try {
  await import(outfile)
} finally {
  await rm(outfile, { force: true })
}
