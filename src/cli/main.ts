#!/usr/bin/env node
/**
 * The `ottla` command: one file per subcommand. What a subcommand throws ends here, as one line for the user's mistakes and
 * a whole stack for ours.
 */
import { createRequire } from 'node:module'
import { Command } from 'commander'
import { OttlaError } from '../node/errors.ts'
import { labCommand } from './lab/lab-command.ts'
import { startCommand } from './start.ts'
import { verifyCommand } from './verify.ts'

const { version } = createRequire(import.meta.url)('../../package.json')

const program = new Command('ottla')
  .description("Kafka's little sister: a Kafka you can npm install.")
  .version(version)
  .addCommand(startCommand(version))
  .addCommand(verifyCommand())
  .addCommand(labCommand())

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof OttlaError) {
    process.stderr.write(`ottla: ${error.message}\n${error.hint === undefined ? '' : `       ${error.hint}\n`}`)
  } else {
    process.stderr.write(`ottla: ${error instanceof Error ? error.stack : error}\n`)
  }
  process.exitCode = 1
}
