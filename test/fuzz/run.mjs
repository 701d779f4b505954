/**
 * `npm run twin:fuzz`:
 *
 *   npm run twin:fuzz -- [--minutes 10] [--sequences N] [--seed N] [--target host:port] [--all]
 */
import { fileURLToPath } from 'node:url'
import { importTypeScript } from '../../scripts/import-typescript.mjs'

const path = relative => fileURLToPath(new URL(relative, import.meta.url))
// Beside the twin scenarios, since the configs of their profile are found from there.
const { main } = await importTypeScript(path('./main.ts'), path('../twin/command.ts'))
process.exitCode = await main(path('../oracle/kafka'), process.argv.slice(2))
