/** Renders docs/compatibility.md, the table of clients and steps, from what a run saw. */
import type { ConformanceClient } from './client.ts'
import { STEPS, type StepName } from './steps.ts'

/** A client with the version that the run found. */
export interface TestedClient {
  client: ConformanceClient
  version: string
}

export function renderTable(tested: TestedClient[]): string {
  const notes: string[] = []
  const note = (text: string) => {
    if (!notes.includes(text)) notes.push(text)
    return ` [${notes.indexOf(text) + 1}]`
  }
  const cell = (client: ConformanceClient, step: StepName) => {
    const lacks = client.lacks[step]
    if (lacks) return `–${note(lacks)}`
    const remark = client.remarks?.[step]
    return `✓${remark ? note(`${client.name}: ${remark}`) : ''}`
  }
  const header = ['', ...tested.map(({ client, version }) => `${client.name} ${version}`)]
  const rows = STEPS.map(step => [step.name, ...tested.map(({ client }) => cell(client, step.name as StepName))])
  return [
    '# Compatibility',
    '',
    'Real, unmodified clients against Ottla, as the conformance run (`npm run conformance`) sees them. Besides what a',
    'client reports, each step checks what is stored and what the request log says: the versions that the client sends',
    'to Apache Kafka 4.4, no error codes but those of the ordinary course, no reconnect, no needless rebalance. The',
    'steps called `error` provoke one: the client has to tell its user, or to go on. Two clients are old on purpose:',
    'confluent-kafka and kafka-python as Debian 12 has them.',
    '',
    ...alignColumns([header, ...rows]),
    '',
    '✓ passes · – the client has nothing for it',
    '',
    ...notes.map((text, index) => `${index + 1}. ${text}`),
    '',
    'This file is written by the run: `OTTLA_UPDATE_DOCS=1 npm run conformance`.',
    '',
  ].join('\n')
}

/** The lines of a table, in the form that the formatter of this repository gives it. */
function alignColumns(rows: string[][]): string[] {
  const widths = rows[0].map((_, column) => Math.max(3, ...rows.map(row => row[column].length)))
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  const [header, ...body] = rows.map(row => line(row.map((cell, column) => cell.padEnd(widths[column]))))
  return [header, line(widths.map(width => '-'.repeat(width))), ...body]
}
