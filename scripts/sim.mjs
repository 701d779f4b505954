/**
 * `npm run sim`: the simulator (test/sim), since Node 20 reads no TypeScript.
 *
 *   npm run sim -- --seeds 1000 [--seed S]     seeds S to S + 999; every fourth has three brokers
 *   npm run sim -- --seeds 1000 --brokers 3    all of them have three brokers, or 1 each
 *   npm run sim -- --seed S --trace            one of them, with all that happens
 */
import { fileURLToPath } from 'node:url'
import { importTypeScript } from './import-typescript.mjs'

const { main } = await importTypeScript(fileURLToPath(new URL('../test/sim/main.ts', import.meta.url)))
process.exitCode = main(process.argv.slice(2))
