/**
 * The entry of a worker thread when Ottla runs from its TypeScript sources, as in its own tests: bundles worker.ts and runs
 * that. It is not part of the package, where worker.js stands in its place.
 */
import { fileURLToPath } from 'node:url'
import { importTypeScript } from '../../scripts/import-typescript.mjs'

const path = relative => fileURLToPath(new URL(relative, import.meta.url))
// Inside the repository, so that the packages that the bundle imports are found from there.
await importTypeScript(path('./worker.ts'), path('../../node_modules/.cache/ottla/worker.ts'))
