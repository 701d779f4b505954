/**
 * `ottla verify`: checks a data directory and says in plain words what is wrong with it. It changes nothing, and a broker may run on
 * the directory meanwhile. Ends with 1 when there is an error.
 */
import { Command } from 'commander'
import { type VerifyReport, verifyDataDir } from '../node/verify-data-dir.ts'

export function verifyCommand(): Command {
  return new Command('verify')
    .description('Check a data directory: every batch, index and checkpoint. Nothing is changed.')
    .argument('<directory>', 'the data directory of a broker')
    .option('-q, --quiet', 'print no notes, which tell of nothing wrong')
    .action(async (directory: string, { quiet }: { quiet?: boolean }) => {
      const report = await verifyDataDir(directory)
      process.stdout.write(renderReport(report, quiet ?? false))
      if (report.findings.some(({ level }) => level === 'error')) process.exitCode = 1
    })
}

/** The report as text; exported for its test. */
export function renderReport(report: VerifyReport, quiet: boolean): string {
  const shown = report.findings.filter(({ level }) => !quiet || level !== 'note')
  const lines = shown.map(
    ({ level, path, message }) => `${level.padEnd(8)} ${path === '' ? '' : `${path}: `}${message}`,
  )
  if (report.usedBy !== undefined) {
    lines.unshift(`note     it is in use by ${report.usedBy}: what is written meanwhile may look torn`)
  }
  const count = (level: string) => report.findings.filter(each => each.level === level).length
  const { logs, segments, batches, bytes } = report
  const checked = `${amount(logs, 'log')}, ${amount(segments, 'segment')}, ${amount(batches, 'batch', 'batches')}, ${size(bytes)}`
  lines.push(`${checked}: ${amount(count('error'), 'error')}, ${amount(count('warning'), 'warning')}`)
  return `${lines.join('\n')}\n`
}

function amount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`
}

function size(bytes: number): string {
  const [value, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB']
  return `${value.toLocaleString('en-US', { maximumFractionDigits: 1 })} ${unit}`
}
