/**
 * Runs a TypeScript entry of the repository, bundled since Node 20 reads no TypeScript. As a command:
 * `node scripts/import-typescript.mjs bench/requests.ts [ARGUMENT…]`.
 */
import { rm } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { threadId } from 'node:worker_threads'
import { build } from 'esbuild'

/**
 * @param {string} entry path of the file
 * @param {string} [beside] a file next to which the bundle lies while it is read: what it finds by `import.meta.url` is looked
 *   for from there; the entry itself when left out
 * @returns what the file exports
 */
export async function importTypeScript(entry, beside = entry) {
  const outfile = resolve(dirname(beside), `.bundle-${process.pid}-${threadId}-${Date.now()}.mjs`)
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node20',
    sourcemap: 'inline',
  })
  try {
    return await import(pathToFileURL(outfile).href)
  } finally {
    await rm(outfile, { force: true })
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  // The program that is run finds its arguments where it expects them.
  argv.splice(1, 1)
  argv[1] = resolve(argv[1])
  await importTypeScript(argv[1])
}
