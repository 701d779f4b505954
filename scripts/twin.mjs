/** Runs test/twin/command.ts: `twin.mjs record HOST:PORT FILE…` and `twin.mjs check HOST:PORT [FILE…]`. */
import { fileURLToPath } from 'node:url'
import { importTypeScript } from './import-typescript.mjs'

await importTypeScript(fileURLToPath(new URL('../test/twin/command.ts', import.meta.url)))
