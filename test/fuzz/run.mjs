/**
 * `npm run twin:fuzz`: bundles main.ts and runs that, since Node 20 reads no TypeScript.
 *
 *   npm run twin:fuzz -- [--minutes 10] [--sequences N] [--seed N] [--target host:port] [--all]
 */
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

// Beside the twin scenarios, since the configs of their profile are found from there.
const outfile = fileURLToPath(new URL(`../twin/.fuzz-${process.pid}.mjs`, import.meta.url))
await build({
  entryPoints: [fileURLToPath(new URL('./main.ts', import.meta.url))],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: 'inline',
})
let module
try {
  module = await import(outfile)
} finally {
  await rm(outfile, { force: true })
}
process.exitCode = await module.main(fileURLToPath(new URL('../oracle/kafka', import.meta.url)), process.argv.slice(2))
