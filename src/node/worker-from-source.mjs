/**
 * The entry of a worker thread when Ottla runs from its TypeScript sources, as in its own tests: bundles worker.ts and runs
 * that, since Node 20 reads no TypeScript. It is not part of the package, where worker.js stands in its place.
 */
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { threadId } from 'node:worker_threads'
import { build } from 'esbuild'

// Inside the repository, so that the packages that the bundle imports are found from there.
const name = `worker-${process.pid}-${threadId}-${Date.now()}.mjs`
const outfile = fileURLToPath(new URL(`../../node_modules/.cache/ottla/${name}`, import.meta.url))
await build({
  entryPoints: [fileURLToPath(new URL('./worker.ts', import.meta.url))],
  outfile,
  bundle: true,
  packages: 'external',
  platform: 'node',
  format: 'esm',
  target: 'node20',
  sourcemap: 'inline',
})
try {
  await import(outfile)
} finally {
  await rm(outfile, { force: true })
}
